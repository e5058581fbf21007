//! `callboard up`: a stack in the foreground, with a port for browsers and programs.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use anyhow::Context as _;
use callboard_discovery::{
    InstanceId,
    small_file::{self, SECRET_LIMIT},
};
use tokio_util::sync::CancellationToken;

use crate::args::Up;
use crate::commands::doctor;
use crate::commands::here::{Here, stack_order};
use crate::commands::run::Interrupts;
use crate::config::{Loaded, reload};
use crate::exit::{Exit, usage};
use crate::place::{Place, state};
use crate::print;
use crate::serve::{backend, telemetry};
use crate::stack::hello::Hello;
use crate::stack::lock::Lock;
use crate::stack::{Kind, Supervisor, lock, plan};

/// Runs a stack until Ctrl-C.
///
/// # Errors
/// What kept it from starting or going on.
pub(crate) async fn run(here: &Here, up: Up) -> anyhow::Result<Exit> {
    let loaded = here.load()?;
    let place = here.place()?;
    let lock = take(&place)?;
    for warning in doctor::warnings(here, &place) {
        print::err(&format!("warning: {warning}"));
    }
    let mut interrupts = Interrupts::listen()?;
    let shutdown = CancellationToken::new();
    let stop = shutdown.clone();
    let lived = live(here, (&place, &loaded), up, lock, shutdown);
    tokio::pin!(lived);
    tokio::select! {
        ended = &mut lived => return ended,
        () = interrupts.next() => stop.cancel(),
    }
    tokio::select! {
        ended = &mut lived => ended,
        // Who asks twice does not want to wait: what is left is killed.
        () = interrupts.next() => Ok(Exit::Cancelled),
    }
}

async fn live(
    here: &Here,
    (place, loaded): (&Place, &Loaded),
    up: Up,
    lock: Lock,
    shutdown: CancellationToken,
) -> anyhow::Result<Exit> {
    let settings = &loaded.settings;
    let telemetry = telemetry("up", &InstanceId::new("up"), settings, &place.state, true)?;
    let discovery = callboard_discovery::connect(backend(settings, &place.directory())).await?;
    let mut order = stack_order(place, loaded);
    let http = up.listen.or_else(|| settings.gateway.listen.clone());
    let token = match &settings.gateway.token {
        Some(_) => None,
        None => Some(api_token(place, &mut order.settings)?),
    };
    let mut plan = plan(place, order, Kind::Foreground { http }, lock)?;
    plan.rules = Some(reload::follow(here.clone(), loaded).0);
    let mut stack = Supervisor::start(plan, discovery, shutdown).await?;
    let ended = match stack.until_ready().await {
        Ok(Some(hello)) => {
            print::out(&ready(hello, token.as_deref()))?;
            stack.until_end().await
        }
        Ok(None) => Ok(()),
        Err(error) => Err(error),
    };
    stack.drain().await;
    telemetry.shutdown().await;
    ended.map(|()| Exit::Done)
}

fn take(place: &Place) -> anyhow::Result<Lock> {
    if let Some(lock) = lock::take(&place.state).context("the state folder cannot be locked")? {
        return Ok(lock);
    }
    let holder = lock::holder(&place.state)?;
    Err(usage(format!(
        "a stack runs on the state folder {} already ({holder}): use it, end it, or choose another \
         folder with --state DIR",
        place.state.display()
    )))
}

/// The API token: made once, kept in the state folder, handed to the gateway with its settings.
fn api_token(place: &Place, settings: &mut toml::Table) -> anyhow::Result<String> {
    let path = state::secret(&place.state, "api-token").context("the API token cannot be made")?;
    let token = small_file::read(&path, SECRET_LIMIT).context("the API token cannot be read")?;
    let token = token.trim().to_owned();
    let gateway = settings.entry("gateway").or_insert_with(|| toml::Table::new().into());
    if let Some(gateway) = gateway.as_table_mut() {
        gateway.insert("token".to_owned(), token.clone().into());
    }
    Ok(token)
}

/// The lines that say where the stack is.
fn ready(hello: &Hello, token: Option<&str>) -> String {
    let Some(http) = &hello.http else {
        return format!("Callboard is ready: {}", hello.gateway.display());
    };
    let (url, is_open) = reachable(http);
    let mut text = match token {
        Some(token) => format!("Callboard is ready: {url}/?token={token}"),
        None => format!("Callboard is ready: {url}/ (with the token of `gateway.token`)"),
    };
    if is_open {
        text.push_str(
            "\nOther machines reach it only by names and addresses that `gateway.hosts` lists.",
        );
    }
    text
}

/// The URL by which a program on this machine reaches a gateway that listens at `http`, and whether
/// other machines may reach it too.
fn reachable(http: &str) -> (String, bool) {
    let address = http.strip_prefix("http://").and_then(|text| text.parse::<SocketAddr>().ok());
    let Some(address) = address else { return (http.to_owned(), false) };
    let own = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    (format!("http://{}", SocketAddr::new(own, address.port())), !address.ip().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_that_is_printed_can_be_followed_on_this_machine() {
        for (listens, url, is_open) in [
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080", false),
            ("http://0.0.0.0:8080", "http://127.0.0.1:8080", true),
            ("http://[::]:8080", "http://[::1]:8080", true),
            ("http://10.0.0.7:80", "http://10.0.0.7:80", true),
        ] {
            assert_eq!(reachable(listens), (url.to_owned(), is_open), "{listens}");
        }
    }
}
