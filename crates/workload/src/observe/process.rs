//! CPU time of a process on this machine, from `/proc`; not known on other systems than Linux.

/// Microseconds per tick: Linux reports CPU time in hundredths of a second.
const TICK_US: u64 = 10_000;
/// Fields of `/proc/PID/stat` after the name: time in user mode and in the kernel.
const TIMES: [usize; 2] = [11, 12];

/// User and system time of a process so far, in microseconds.
pub(crate) fn cpu_us(process: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program may contain anything.
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    let ticks = TIMES.map(|index| fields.get(index)?.parse::<u64>().ok());
    Some((ticks[0]? + ticks[1]?) * TICK_US)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_of_a_process_is_read() {
        assert!(cpu_us(std::process::id()).is_some());
        assert_eq!(cpu_us(u32::MAX), None);
    }
}
