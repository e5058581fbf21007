//! TLS towards PostgreSQL, on rustls. Certificates are always checked: against the CA that the
//! settings name, else against those that the machine trusts.
//!
//! Left to others: whether TLS is wanted, which the URL's `sslmode` says. Next: `fault`.

use std::future::Future;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;

/// Makes TLS connections.
#[derive(Clone)]
pub(super) struct Tls(TlsConnector);

impl Tls {
    /// Trusts the certificates in `ca_file`, or what the machine trusts.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub(super) fn new(ca_file: Option<&Path>) -> Result<Self, String> {
        let builder = || {
            ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
                .with_safe_default_protocol_versions()
                .map_err(|error| error.to_string())
        };
        let trusting = |roots: RootCertStore| {
            Ok::<_, String>(builder()?.with_root_certificates(roots).with_no_client_auth())
        };
        let config = match ca_file {
            Some(file) => trusting(roots(file)?)?,
            None => match builder()?.with_platform_verifier() {
                Ok(builder) => builder.with_no_client_auth(),
                // A machine that trusts nobody: fine until a server shows a certificate.
                Err(_) => trusting(RootCertStore::empty())?,
            },
        };
        Ok(Self(TlsConnector::from(Arc::new(config))))
    }
}

fn roots(file: &Path) -> Result<RootCertStore, String> {
    let wrong = |what: String| format!("`{}`: {what}", file.display());
    let mut roots = RootCertStore::empty();
    let found = CertificateDer::pem_file_iter(file).map_err(|error| wrong(error.to_string()))?;
    for certificate in found {
        let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
        roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
    }
    if roots.is_empty() { Err(wrong("it holds no certificate".to_owned())) } else { Ok(roots) }
}

impl MakeTlsConnect<Socket> for Tls {
    type Stream = Stream;
    type TlsConnect = ToHost;
    type Error = std::convert::Infallible;

    fn make_tls_connect(&mut self, host: &str) -> Result<ToHost, Self::Error> {
        Ok(ToHost { connector: self.0.clone(), host: host.to_owned() })
    }
}

/// A connection that is about to be made.
pub(super) struct ToHost {
    connector: TlsConnector,
    host: String,
}

impl TlsConnect<Socket> for ToHost {
    type Stream = Stream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let name = ServerName::try_from(self.host)
                .map_err(|error| io::Error::new(ErrorKind::InvalidInput, error))?;
            Ok(Stream(Box::new(self.connector.connect(name, socket).await?)))
        })
    }
}

/// An encrypted connection.
pub(super) struct Stream(Box<tokio_rustls::client::TlsStream<Socket>>);

impl TlsStream for Stream {
    fn channel_binding(&self) -> ChannelBinding {
        // The certificate was checked, which is what a binding would add to a password.
        ChannelBinding::none()
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
