//! Requests that are signed (Web Bot Auth), judged by the crate of those who check them.

#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::sync::{Arc, mpsc};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lycosa_fetch::Settings;
use support::signed::*;
use support::*;

#[test]
fn a_request_that_others_can_read_is_not_signed() {
    let (heads, seen) = mpsc::channel();
    let server = Server::start(vec![Box::new(move |mut stream| {
        heads.send(read_request(&mut stream).unwrap()).unwrap();
        std::io::Write::write_all(&mut stream, &ok("")).unwrap();
    })]);
    let settings = Settings { identity: Some(Arc::new(identity())), ..settings() };
    page(fetch_with(settings, server.request("/page")));
    let head = seen.recv_timeout(Duration::from_secs(9)).unwrap().to_lowercase();
    assert!(head.contains("host: ") && !head.contains("signature"), "{head}");
}

#[test]
fn a_key_directory_is_signed_for_its_site() {
    let identity = identity();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let [digest, input, signature] = identity.sign_directory(b"{}", now, now + 86_400);
    assert_eq!(digest, "sha-256=:RBNvo1WzZ4oRRq0W9+hknpT7T8If536DEMBg9hyq/4o=:");
    let fields = |name: &str| match name {
        "content-digest" => Some(digest.clone()),
        "signature-input" => Some(input.clone()),
        "signature" => Some(signature.clone()),
        _ => None,
    };
    let keys = keys(&identity);
    assert!(is_directory_signed(&Message { authority: "bot.example.org", fields: &fields }, &keys));
    assert!(!is_directory_signed(&Message { authority: "copy.example.org", fields: &fields }, &keys));
}
