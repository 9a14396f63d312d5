//! Signals of the operating system.

use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

/// How long after the first signal to stop a further one is taken for the same: shells and supervisors pass a signal on.
const SAME_SIGNAL: Duration = Duration::from_secs(1);

/// Resolves on SIGTERM or SIGINT.
pub(crate) fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Resolves on SIGTERM or SIGINT, and when the terminal is closed, unless `nohup` started the program.
pub(crate) fn stop_or_hangup_signal() -> anyhow::Result<impl Future<Output = ()>> {
    let mut hangup = if is_hangup_ignored() { None } else { Some(signal(SignalKind::hangup())?) };
    let stop = stop_signal()?;
    Ok(async move {
        let hangup = async {
            match &mut hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = stop => {}
            _ = hangup => {}
        }
    })
}

/// Whether SIGHUP was ignored when the program started, as Linux tells.
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // Signal 1 is the lowest bit.
    ignored.is_some_and(|mask| mask & 1 == 1)
}

/// Resolves on a second SIGTERM or SIGINT, which ends a stop that takes too long.
pub(crate) fn second_stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
    let first = stop_signal()?;
    Ok(async move {
        first.await;
        tokio::time::sleep(SAME_SIGNAL).await;
        match stop_signal() {
            Ok(second) => second.await,
            Err(_) => std::future::pending().await,
        }
    })
}
