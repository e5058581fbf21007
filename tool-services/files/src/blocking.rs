//! Takes file work off the runtime's threads and ends it with its call.

use callboard_tool::{Call, Failure};
use tokio_util::sync::CancellationToken;

/// Runs `work` where it may block. It gets a token that fires when the call ends, also when this
/// future is dropped; from then on it works for nobody and has to stop by itself.
///
/// # Errors
/// Those of `work`; `cancelled` if the runtime is shutting down.
pub(crate) async fn blocking<T: Send + 'static>(
    call: &Call,
    work: impl FnOnce(&CancellationToken) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let stop = call.cancellation().child_token();
    let _ends_with_the_future = stop.clone().drop_guard();
    match tokio::task::spawn_blocking(move || work(&stop)).await {
        Ok(result) => result,
        // The kit turns a panic into a failure and logs it.
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(Failure::cancelled("The service is shutting down; nothing was done.")),
    }
}
