//! What the demo prints: first what to open and what one will see, then how the line does.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use vestibule_core::line::Stats;
use vestibule_core::{Store, wait_estimate};

use super::Keys;
use super::habits::Habits;
use super::queue::{ACTIVE_TTL, queue_id};
use crate::cli::DemoOptions;

/// Time between two lines of a log.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// Time between two states of the one line that a terminal shows.
const UPDATE_EVERY: Duration = Duration::from_secs(1);
/// Expected waits below this many seconds are told as none.
const SHORT_WAIT: u64 = 5;

/// Writes to standard output. That nobody reads it any more is no reason to stop.
fn write(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Says where to look and what one sees there.
pub(super) fn introduce(options: &DemoOptions, habits: &Habits, address: SocketAddr, keys: &Keys) {
    let wait = habits.expected_wait(u64::from(options.visitors), options.quota, ACTIVE_TTL as f64);
    write(&introduction(options, wait, address, keys));
}

fn introduction(options: &DemoOptions, wait: Duration, address: SocketAddr, keys: &Keys) -> String {
    let (quota, crowd) = (options.quota, u64::from(options.visitors));
    let mut text = format!("\n  Open  http://{address}/\n\n");
    let people = if crowd == 0 { "nobody else wants in".to_owned() } else { format!("a crowd of {crowd} wants in") };
    let _ = writeln!(text, "A ticket shop that can serve {quota} at once, and {people}.");
    let _ = if wait.as_secs() < SHORT_WAIT {
        writeln!(text, "There is room, so you are in at once.")
    } else {
        let wait = rough(wait);
        writeln!(text, "You stand in line behind them, see your place come nearer, and are let in after {wait}.")
    };
    text.push_str(
        "In the shop, buy something or leave, and your place goes to the next in line. Nothing is really sold.\n\
         A private window is one more visitor. Ctrl-C ends it all.\n\n",
    );
    let Keys { address, name, password } = keys;
    let _ = writeln!(text, "  Run it  http://{address}/    name {name}, password {password}\n");
    text
}

/// A time in words, no more exact than it is known.
fn rough(time: Duration) -> String {
    match time.as_secs() {
        0..45 => "less than a minute".to_owned(),
        45..90 => "about a minute".to_owned(),
        seconds => format!("about {} minutes", (seconds + 30) / 60),
    }
}

/// Tells how the line does, for ever.
pub(super) async fn keep_reporting(store: Arc<dyn Store>) {
    let Ok(queue) = queue_id() else { return };
    let terminal = std::io::stdout().is_terminal();
    let mut ticks = tokio::time::interval(if terminal { UPDATE_EVERY } else { LINE_EVERY });
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
        "{} waiting, {} of {} in the shop, {} let in so far",
        stats.waiting, stats.active, stats.rules.quota, stats.counters.admitted
    );
    let full = stats.active >= stats.rules.quota;
    if let Some(wait) = wait_estimate(&stats.rules, &stats.flow(), stats.now, stats.waiting + 1).filter(|_| full) {
        let _ = write!(text, "; who comes now waits about {} s", wait.p50);
    }
    text
}

/// Ends the one line of a terminal.
pub(super) fn end() {
    if std::io::stdout().is_terminal() {
        write("\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(quota: u64, crowd: u64) -> String {
        let any = ([127, 0, 0, 1], 0).into();
        let options =
            DemoOptions { listen: any, admin_listen: any, quota, visitors: crowd as u32, seed: 1, log: "warn".into() };
        let wait = Habits::default().expected_wait(crowd, quota, ACTIVE_TTL as f64);
        let keys = Keys { address: ([127, 0, 0, 1], 8081).into(), name: "admin", password: "0123456789abcdef".into() };
        introduction(&options, wait, ([127, 0, 0, 1], 8080).into(), &keys)
    }

    #[test]
    fn the_first_thing_said_is_what_to_open() {
        assert!(told(20, 200).trim_start().starts_with("Open  http://127.0.0.1:8080/\n"));
        assert!(told(20, 200).contains("after about a minute."), "{}", told(20, 200));
        assert!(told(20, 200).contains("http://127.0.0.1:8081/    name admin, password 0123456789abcdef"));
        assert!(told(20, 0).contains("in at once"), "{}", told(20, 0));
        assert!(told(1, 200).contains("minutes."), "{}", told(1, 200));
    }
}
