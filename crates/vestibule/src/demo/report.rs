//! The output of the demo: first the addresses and what to expect, then the state of the line.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use vestibule_core::line::Stats;
use vestibule_core::store::OperationsStore;
use vestibule_estimate::estimate_wait;

use super::behavior::approximate_wait;
use super::options::DemoOptions;
use super::queue::queue_id;

/// Interval of the lines in a log.
const LOG_INTERVAL: Duration = Duration::from_secs(10);
/// Interval of the updates on a terminal.
const UPDATE_INTERVAL: Duration = Duration::from_secs(1);
/// Waits below this many seconds are shown as none.
const SHORT_WAIT: u64 = 5;

/// How to sign in to the backoffice.
pub(super) struct Credentials {
    pub(super) address: SocketAddr,
    pub(super) name: &'static str,
    pub(super) password: String,
}

/// Writes to stdout. A closed stdout does not stop the demo.
fn write(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Prints the addresses and what to expect.
pub(super) fn print_introduction(options: &DemoOptions, address: SocketAddr, credentials: &Credentials) {
    write(&introduction(options, address, credentials));
}

fn introduction(options: &DemoOptions, address: SocketAddr, credentials: &Credentials) -> String {
    let DemoOptions { quota, visitors, .. } = options;
    let Credentials { address: dashboard, name, password } = credentials;
    let mut text = format!(
        "\n  Shop       http://{address}/\n  Dashboard  http://{dashboard}/  sign in as {name} / {password}\n\n"
    );
    let _ = writeln!(text, "A sample ticket shop with a quota of {quota} and {visitors} simulated visitors.");
    let wait = approximate_wait(*visitors, *quota);
    let _ = if wait.as_secs() < SHORT_WAIT {
        writeln!(text, "There are free slots: you are admitted at once.")
    } else {
        writeln!(text, "You join the line behind them; you are admitted after {}.", in_words(wait))
    };
    text + "Your order is held until the slow shop has processed it; a double click is one order. Nothing is really sold.\n\
            When you have bought or left, the next visitor in line gets your slot.\n\
            A private window is another visitor. Press Ctrl+C to stop the demo.\n\n"
}

/// A rough time in words.
fn in_words(time: Duration) -> String {
    match time.as_secs() {
        0..45 => "less than a minute".to_owned(),
        45..90 => "about a minute".to_owned(),
        seconds => format!("about {} minutes", (seconds + 30) / 60),
    }
}

/// Prints the state of the line, forever.
pub(super) async fn report_loop(store: Arc<dyn OperationsStore>) {
    let Ok(queue) = queue_id() else { return };
    let terminal = std::io::stdout().is_terminal();
    let mut ticks = tokio::time::interval(if terminal { UPDATE_INTERVAL } else { LOG_INTERVAL });
    ticks.tick().await;
    loop {
        ticks.tick().await;
        let Ok(stats) = store.stats(&queue).await else { continue };
        let line = status(&stats);
        write(&if terminal { format!("\r{line}\x1b[K") } else { format!("{line}\n") });
    }
}

fn status(stats: &Stats) -> String {
    let mut text = format!(
        "{} waiting, {} of {} active, {} admitted",
        stats.waiting, stats.active, stats.rules.quota, stats.counters.admitted
    );
    let full = stats.active >= stats.rules.quota;
    if let Some(wait) = estimate_wait(&stats.rules, &stats.flow(), stats.now, stats.waiting + 1).filter(|_| full) {
        let _ = write!(text, ", estimated wait for new arrivals {} s", wait.seconds().p50);
    }
    text
}

/// Ends the status line of a terminal.
pub(super) fn end() {
    if std::io::stdout().is_terminal() {
        write("\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(quota: u64, visitors: u32) -> String {
        let any = ([127, 0, 0, 1], 0).into();
        let options = DemoOptions { listen: any, admin_listen: any, quota, visitors, seed: 1, log: "warn".into() };
        let credentials =
            Credentials { address: ([127, 0, 0, 1], 8081).into(), name: "admin", password: "0123456789abcdef".into() };
        introduction(&options, ([127, 0, 0, 1], 8080).into(), &credentials)
    }

    #[test]
    fn introduction_starts_with_the_addresses() {
        assert!(text(20, 200).trim_start().starts_with("Shop       http://127.0.0.1:8080/\n"), "{}", text(20, 200));
        assert!(text(20, 200).contains("after about 2 minutes."), "{}", text(20, 200));
        assert!(text(20, 200).contains("http://127.0.0.1:8081/  sign in as admin / 0123456789abcdef"));
        assert!(text(20, 0).contains("admitted at once"), "{}", text(20, 0));
        assert!(text(1, 200).contains("minutes."), "{}", text(1, 200));
    }
}
