//! Converts HTTP/2's messages to the heads of records, and its errors to failures.

use std::io;

use bytes::Bytes;
use h2::Reason;
use http::{HeaderMap, StatusCode};
use lycosa_records::Head;
use lycosa_url::{Failure, FailureKind};

use crate::message::io_kind;

/// The head of a request, in the form of HTTP/1: HTTP/2 sends it compressed.
pub(crate) fn sent(request: &http::Request<()>) -> Head {
    let uri = request.uri();
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let host = uri.authority().map(|authority| ("host", authority.as_str().as_bytes()));
    let fields = request.headers().iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    Head::of(&format!("{} {path} HTTP/2", request.method()), host.into_iter().chain(fields))
        .unwrap_or_else(|| Head::new(Bytes::new()))
}

/// The head of a response, in the form of HTTP/1: the reason is not sent.
pub(crate) fn received(status: StatusCode, headers: &HeaderMap) -> Head {
    let fields = || headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    let line = format!("HTTP/2 {}", status.as_u16());
    // A field whose value has control characters is left out, as HTTP/1's parser does.
    Head::of(&line, fields()).unwrap_or_else(|| {
        let valid = fields().filter(|(name, value)| Head::of("", [(*name, *value)]).is_some());
        Head::of(&line, valid).unwrap_or_else(|| Head::new(Bytes::new()))
    })
}

/// Converts an error of a stream or a session.
pub(crate) fn failure(error: &h2::Error) -> Failure {
    let kind = match (error.get_io(), error.reason()) {
        (Some(cause), _) => match cause.kind() {
            io::ErrorKind::InvalidData => FailureKind::Protocol,
            _ => io_kind(cause),
        },
        // The server has ended it, for reasons of its own or since it is overloaded.
        (
            None,
            Some(
                Reason::NO_ERROR
                | Reason::REFUSED_STREAM
                | Reason::CANCEL
                | Reason::INTERNAL_ERROR
                | Reason::CONNECT_ERROR
                | Reason::ENHANCE_YOUR_CALM
                | Reason::STREAM_CLOSED,
            ),
        ) if error.is_remote() => FailureKind::ConnectionClosed,
        _ => FailureKind::Protocol,
    };
    Failure::new(kind, error.to_string())
}
