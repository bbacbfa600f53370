//! Tunnels through proxies: CONNECT (RFC 9110 section 9.3.6) and SOCKS 5 (RFC 1928).

use std::net::{IpAddr, SocketAddr};

use lycosa_url::{CrawlUrl, Failure, FailureKind};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio_socks::tcp::Socks5Stream;
use tokio_socks::{Error, TargetAddr};

use crate::proxy::{Proxy, ProxyProtocol};

/// Bytes of the head of the answer to CONNECT, and its fields.
const MAX_HEAD: usize = 16 << 10;
const MAX_FIELDS: usize = 100;

/// Opens a tunnel to a site on a stream to the proxy; fails with what the proxy says: of the site, or of itself. `addresses`: the
/// site's, of which a proxy that resolves no names gets the first.
pub(crate) async fn open<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    proxy: &Proxy,
    url: &CrawlUrl,
    addresses: &[IpAddr],
) -> Result<S, Failure> {
    let target = match (proxy.resolves, addresses.first()) {
        (true, _) => None,
        (false, Some(address)) => Some(SocketAddr::new(*address, url.port())),
        (false, None) => return Err(own("the site's addresses are not known")),
    };
    match proxy.protocol {
        ProxyProtocol::Socks5 => socks5(stream, proxy, url, target).await,
        ProxyProtocol::Http | ProxyProtocol::Https => connect(stream, proxy, url, target).await,
    }
}

/// Asks a SOCKS proxy for a tunnel.
async fn socks5<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    proxy: &Proxy,
    url: &CrawlUrl,
    target: Option<SocketAddr>,
) -> Result<S, Failure> {
    let host = bare(url.host());
    let target = match (target, host.parse()) {
        (Some(address), _) => TargetAddr::Ip(address),
        (None, Ok(address)) => TargetAddr::Ip(SocketAddr::new(address, url.port())),
        (None, Err(_)) => TargetAddr::Domain(host.into(), url.port()),
    };
    let opened = match &proxy.credentials {
        Some((user, password)) => {
            Socks5Stream::connect_with_password_and_socket(stream, target, user, password).await
        }
        None => Socks5Stream::connect_with_socket(stream, target).await,
    };
    opened
        .map(Socks5Stream::into_inner)
        .map_err(|error| Failure::new(kind_of_reply(&error), error.to_string()))
}

/// Whose failure an answer of a SOCKS proxy is (RFC 1928 section 6): the site's, if the proxy could not connect to it.
fn kind_of_reply(error: &Error) -> FailureKind {
    match error {
        Error::NetworkUnreachable | Error::HostUnreachable | Error::TtlExpired => FailureKind::ConnectFailed,
        Error::ConnectionRefused => FailureKind::ConnectRefused,
        _ => FailureKind::ProxyFailed,
    }
}

/// Whose failure a status of an answer to CONNECT is: those of a gateway tell of the site (RFC 9110 section 15.6).
fn kind_of_status(status: u16) -> FailureKind {
    match status {
        502 | 503 => FailureKind::ConnectFailed,
        504 => FailureKind::ConnectTimeout,
        _ => FailureKind::ProxyFailed,
    }
}

/// A failure of the proxy itself.
fn own(detail: impl ToString) -> Failure {
    Failure::new(FailureKind::ProxyFailed, detail.to_string())
}

/// Asks an HTTP proxy for a tunnel.
async fn connect<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    proxy: &Proxy,
    url: &CrawlUrl,
    target: Option<SocketAddr>,
) -> Result<S, Failure> {
    let authority =
        target.map_or_else(|| format!("{}:{}", url.host(), url.port()), |target| target.to_string());
    let authorization =
        proxy.authorization().map_or_else(String::new, |value| format!("Proxy-Authorization: {value}\r\n"));
    let request = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n{authorization}\r\n");
    stream.write_all(request.as_bytes()).await.map_err(own)?;
    stream.flush().await.map_err(own)?;
    let mut head = Vec::new();
    loop {
        let mut part = [0; 1024];
        let count = stream.read(&mut part).await.map_err(own)?;
        if count == 0 {
            return Err(own("it closed the connection instead of an answer to CONNECT"));
        }
        head.extend_from_slice(&part[..count]);
        if let Some(length) = answered(&head)? {
            // Through the tunnel the client speaks first.
            let is_all = length == head.len();
            return is_all.then_some(stream).ok_or_else(|| own("it sent bytes before the site could"));
        }
        if head.len() > MAX_HEAD {
            return Err(own(format!("its answer to CONNECT has more than {MAX_HEAD} bytes")));
        }
    }
}

/// The length of the head of a successful answer; `None`: it is not complete. Fails with its status otherwise.
fn answered(head: &[u8]) -> Result<Option<usize>, Failure> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut response = httparse::Response::new(&mut fields);
    match response.parse(head) {
        Ok(httparse::Status::Partial) => Ok(None),
        Ok(httparse::Status::Complete(length)) => match response.code {
            Some(200..300) => Ok(Some(length)),
            status => {
                let status = status.unwrap_or_default();
                // python/lycosa/proxies/faults.py tells by these words, and by those of SOCKS errors, what was refused.
                Err(Failure::new(kind_of_status(status), format!("it answered CONNECT with status {status}")))
            }
        },
        Err(error) => Err(own(format!("its answer to CONNECT is not HTTP: {error}"))),
    }
}

/// A host of a URL without brackets.
pub(crate) fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_to_connect_is_a_tunnel_or_says_why_not() {
        assert_eq!(answered(b"HTTP/1.1 200 Connection established\r\n\r\n"), Ok(Some(39)));
        assert_eq!(answered(b"HTTP/1.0 200 OK\r\nProxy-Agent: x\r\n\r\nmore"), Ok(Some(35)));
        assert_eq!(answered(b"HTTP/1.1 200 Conn"), Ok(None));
        let refused = answered(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n").unwrap_err();
        assert!(refused.detail.contains("407"), "{refused:?}");
        assert!(answered(b"SSH-2.0-OpenSSH\r\n\r\n").unwrap_err().detail.contains("not HTTP"));
    }

    #[test]
    fn what_a_proxy_says_of_the_site_is_no_failure_of_the_proxy() {
        use FailureKind as K;
        let statuses = [
            (502, K::ConnectFailed),
            (503, K::ConnectFailed),
            (504, K::ConnectTimeout),
            (403, K::ProxyFailed),
            (407, K::ProxyFailed),
            (500, K::ProxyFailed),
        ];
        for (status, kind) in statuses {
            let head = format!("HTTP/1.1 {status} X\r\n\r\n");
            assert_eq!(answered(head.as_bytes()).unwrap_err().kind, kind, "{status}");
        }
        for (error, kind) in [
            (Error::NetworkUnreachable, K::ConnectFailed),
            (Error::HostUnreachable, K::ConnectFailed),
            (Error::TtlExpired, K::ConnectFailed),
            (Error::ConnectionRefused, K::ConnectRefused),
            (Error::GeneralSocksServerFailure, K::ProxyFailed),
            (Error::PasswordAuthFailure(1), K::ProxyFailed),
        ] {
            assert_eq!(kind_of_reply(&error), kind, "{error}");
        }
    }
}
