//! Parses the address of Redis: a URL of a single server, a cluster, or a server monitored by
//! Sentinel.

use fred::types::config::{Config, TlsConnector};
use vestibule_tls::TlsError;

/// An invalid Redis URL or TLS configuration. The error never repeats the URL, which may contain a
/// password.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// The URL has none of the supported forms.
    #[error(
        "the address of Redis takes redis://[user:password@]host[:port][/database], rediss:// for TLS, \
         redis-cluster://[user:password@]host:port[?node=host:port&node=..] or rediss-cluster:// for a cluster, or \
         redis-sentinel://[user:password@]host:port/[database]?sentinelServiceName=name[&sentinelPassword=password]\
         [&node=host:port&node=..] or rediss-sentinel:// for a server that sentinels watch"
    )]
    Form,
    /// No certificate authority can be trusted.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] TlsError),
    /// The URL is valid, but the client can't be created.
    #[error("the client of Redis cannot be set up: {0}")]
    Client(String),
}

const SCHEMES: [&str; 6] = ["redis", "rediss", "redis-cluster", "rediss-cluster", "redis-sentinel", "rediss-sentinel"];

/// Parses a URL into a configuration.
pub(crate) fn parse(url: &str) -> Result<Config, AddressError> {
    let (scheme, rest) = url.split_once("://").ok_or(AddressError::Form)?;
    if !SCHEMES.contains(&scheme) {
        return Err(AddressError::Form);
    }
    // Otherwise the client would configure TLS itself and read the system's certificates.
    let plain = scheme.replacen("rediss", "redis", 1);
    // The details of the error may quote the URL.
    let config = Config::from_url(&format!("{plain}://{rest}")).map_err(|_| AddressError::Form)?;
    let tls = if plain == scheme { None } else { Some(TlsConnector::from(vestibule_tls::client_config()?).into()) };
    // Otherwise the client would delay its first connection attempt.
    Ok(Config { tls, fail_fast: true, ..config })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_every_redis_address_form() {
        for url in [
            "redis://127.0.0.1",
            "redis://user:secret@redis.example.com:6380/2",
            "redis-cluster://user:secret@a.example.com:7000?node=b.example.com:7001&node=c.example.com:7002",
            "redis-sentinel://:secret@a.example.com:26379/0?sentinelServiceName=main&node=b.example.com:26379",
            "rediss://redis.example.com",
        ] {
            assert!(parse(url).is_ok(), "{url}");
        }
        let sentinel =
            parse("redis-sentinel://zoe:secret@a:1?sentinelServiceName=main&sentinelPassword=other").unwrap();
        assert_eq!((sentinel.username.as_deref(), sentinel.password.as_deref()), (Some("zoe"), Some("secret")));
        assert!(format!("{:?}", sentinel.server).contains("other"), "the password of the sentinels");
        assert!(parse("redis-cluster://a:1?node=b:2").unwrap().server.is_clustered());
        assert!(parse("redis-sentinel://a:1?sentinelServiceName=main").unwrap().server.is_sentinel());
        assert!(parse("rediss://redis.example.com").unwrap().tls.is_some());
    }

    #[test]
    fn address_error_describes_the_format_without_password() {
        for url in [
            "",
            "127.0.0.1:6379",
            "http://:secret@host",
            "redis://:secret@",
            "redis://:secret@host:port",
            "redis://:secret@host/database",
            "redis-sentinel://:secret@host",
            "redis-cluster://:secret@host:1?node=:secret@host",
            "redis+unix://:secret@host/socket",
        ] {
            let error = parse(url).unwrap_err();
            let said = format!("{error} {error:?}");
            assert!(said.contains("redis-cluster://") && !said.contains("secret"), "{url}: {said}");
        }
    }
}
