//! Reads `INFO` of Redis.

use std::io::{Error, ErrorKind, Result};
use std::str::FromStr;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{ObserveError, Sample};

/// Timeout of a sample.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum size of `INFO`.
const INFO_MAX: usize = 1 << 20;

/// The address of a Redis.
#[derive(Clone)]
pub struct RedisAddress {
    host: String,
    credentials: Vec<String>,
}

impl std::fmt::Debug for RedisAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "redis://{}", self.host)
    }
}

impl FromStr for RedisAddress {
    type Err = ObserveError;

    fn from_str(text: &str) -> std::result::Result<Self, ObserveError> {
        let wrong = || ObserveError::Redis(text.split('@').next_back().unwrap_or_default().to_owned());
        let rest = text.strip_prefix("redis://").ok_or_else(wrong)?;
        let rest = rest.split(['/', '?']).next().unwrap_or_default();
        let (user, host) = rest.rsplit_once('@').unwrap_or(("", rest));
        let credentials = user.split(':').filter(|word| !word.is_empty()).map(str::to_owned).collect();
        let host = match host.rsplit_once(':') {
            Some((name, port)) if !name.is_empty() && port.parse::<u16>().is_ok() => host.to_owned(),
            None if !host.is_empty() => format!("{host}:6379"),
            _ => return Err(wrong()),
        };
        Ok(Self { host, credentials })
    }
}

impl RedisAddress {
    /// Reads the memory, the number of script calls and the CPU time.
    pub(super) async fn sample(&self) -> std::result::Result<Sample, String> {
        let answers = timeout(REQUEST_TIMEOUT, self.info()).await.unwrap_or_else(|_| Err(ErrorKind::TimedOut.into()));
        let info = answers.map_err(|error| format!("Redis: {error}"))?;
        let memory = field(&info, "used_memory:").and_then(|text| text.parse().ok());
        let calls = |command: &str| -> u64 {
            let statistics = field(&info, &format!("cmdstat_{command}:calls="));
            statistics.and_then(|text| text.split(',').next()?.parse().ok()).unwrap_or(0)
        };
        let commands = calls("fcall");
        let seconds = |name| field(&info, name).and_then(|text| text.trim().parse::<f64>().ok());
        let cpu = seconds("used_cpu_user:").zip(seconds("used_cpu_sys:"));
        let cpu_us = cpu.map(|(user, system)| ((user + system) * 1e6) as u64);
        Ok(Sample { memory, commands: Some(commands), cpu_us, ..Sample::default() })
    }

    async fn info(&self) -> Result<String> {
        let mut stream = BufReader::new(TcpStream::connect(&self.host).await?);
        if !self.credentials.is_empty() {
            let words: Vec<&str> = std::iter::once("AUTH").chain(self.credentials.iter().map(String::as_str)).collect();
            ask(&mut stream, &words).await?;
        }
        let memory = ask(&mut stream, &["INFO", "memory"]).await?;
        let commands = ask(&mut stream, &["INFO", "commandstats"]).await?;
        let cpu = ask(&mut stream, &["INFO", "cpu"]).await?;
        Ok(memory + &commands + &cpu)
    }
}

fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(name))
}

async fn ask(stream: &mut BufReader<TcpStream>, words: &[&str]) -> Result<String> {
    let skipped: Vec<String> = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len())).collect();
    let command = format!("*{}\r\n{}", words.len(), skipped.concat());
    stream.write_all(command.as_bytes()).await?;
    let mut head = String::new();
    stream.read_line(&mut head).await?;
    let head = head.trim_end();
    if let Some(error) = head.strip_prefix('-') {
        return Err(Error::other(error.to_owned()));
    }
    let Some(length) = head.strip_prefix('$') else { return Ok(String::new()) };
    let length: usize = length.parse().map_err(|_| Error::from(ErrorKind::InvalidData))?;
    if length > INFO_MAX {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut body = vec![0; length + 2];
    stream.read_exact(&mut body).await?;
    Ok(String::from_utf8_lossy(&body).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redis_url_is_parsed_and_the_password_hidden() {
        let address: RedisAddress = "redis://:secret@10.0.0.5:6380/0".parse().unwrap();
        assert_eq!(
            (address.host.as_str(), address.credentials.as_slice()),
            ("10.0.0.5:6380", &["secret".to_owned()][..])
        );
        assert!(!format!("{address:?}").contains("secret"));
        assert_eq!("redis://cache".parse::<RedisAddress>().unwrap().host, "cache:6379");
        for wrong in ["", "10.0.0.5:6379", "rediss://h:1", "redis://", "redis://h:x"] {
            assert!(wrong.parse::<RedisAddress>().is_err(), "{wrong}");
        }
    }
}
