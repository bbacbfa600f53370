//! Servers with old TLS, by OpenSSL: a failure of its own, told from certificates and from other handshakes that fail.

#![allow(clippy::unwrap_used)]

mod support;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use lycosa_fetch::Settings;
use lycosa_records::Response;
use lycosa_url::{Failure, FailureKind};
use support::*;

/// `openssl s_server` on a port of its own; ends when dropped.
struct OpenSsl {
    process: Child,
    port: String,
    folder: tempfile::TempDir,
}

impl OpenSsl {
    /// Starts a server with a new key and a certificate of its own.
    fn start(key: &[&str], options: &[&str]) -> OpenSsl {
        let folder = tempfile::tempdir().unwrap();
        certify(folder.path(), key);
        let mut process = Command::new("openssl")
            .args(["s_server", "-accept", "127.0.0.1:0", "-www", "-cert", "cert.pem", "-key", "key.pem"])
            .args(options)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let accepts = lines.map(Result::unwrap).find(|line| line.starts_with("ACCEPT")).unwrap();
        OpenSsl { folder, process, port: accepts.rsplit(':').next().unwrap().to_owned() }
    }

    /// What a request to it comes to.
    fn fetch(&self) -> Response {
        let url = format!("https://example.com:{}/", self.port);
        let settings = Settings { ca_file: Some(self.folder.path().join("cert.pem")), ..settings() };
        fetch_with(settings, request(&url, &["127.0.0.1"]))
    }
}

impl Drop for OpenSsl {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Writes a key and a certificate.
fn certify(folder: &Path, key: &[&str]) {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-days", "2"])
        .args(["-subj", "/CN=example.com", "-addext", "subjectAltName=DNS:example.com"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-newkey"])
        .args(key)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
}

const RSA: [&str; 1] = ["rsa:2048"];

#[test]
fn old_versions_old_cipher_suites_and_weak_keys_are_a_failure_of_their_own() {
    for (key, options) in [
        (&RSA[..], &["-tls1", "-cipher", "ALL:@SECLEVEL=0"][..]),
        (&RSA, &["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"]),
        (&RSA, &["-tls1_2", "-cipher", "AES128-SHA"]),
        (&RSA, &["-tls1_2", "-cipher", "DHE-RSA-AES128-GCM-SHA256"]),
        (&RSA, &["-tls1_2", "-cipher", "ECDHE-RSA-AES128-SHA"]),
        (&["rsa:1024"], &["-tls1_2", "-cipher", "ALL:@SECLEVEL=0"]),
        (&["rsa:1024"], &["-cipher", "ALL:@SECLEVEL=0"]),
        (&["rsa:2048", "-sha1"], &["-cipher", "ALL:@SECLEVEL=0"]),
    ] {
        let response = OpenSsl::start(key, options).fetch();
        assert!(response.address.is_some());
        let Failure { kind, detail } = response.result.unwrap_err();
        assert_eq!(kind, FailureKind::TlsTooOld, "{key:?} {options:?}: {detail}");
    }
}

#[test]
fn a_server_of_today_answers_and_one_that_asks_who_we_are_is_not_old() {
    let today = OpenSsl::start(&RSA, &["-tls1_2", "-cipher", "ECDHE-RSA-AES128-GCM-SHA256"]);
    assert_eq!(page(today.fetch()).status, 200);
    // With TLS 1.2 it ends the handshake by the alert of a server that has only old cipher suites, but later.
    for version in ["-tls1_2", "-tls1_3"] {
        let options = [version, "-Verify", "1", "-verify_return_error"];
        assert_eq!(kind(&OpenSsl::start(&RSA, &options).fetch()), FailureKind::TlsFailed, "{version}");
    }
}

#[test]
fn a_server_that_answers_with_tls_1_0_whatever_it_is_offered_is_old() {
    let hello = [&[2, 0, 0, 38, 3, 1][..], &[7; 32], &[0, 0x00, 0x2f, 0]].concat();
    let record = [&[22, 3, 1, 0, 42][..], &hello].concat();
    let server = Server::start(vec![Box::new(move |mut stream| {
        let _ = stream.write_all(&record);
        let _ = stream.read_to_end(&mut Vec::new());
    })]);
    let url = format!("https://example.com:{}/", server.address.port());
    assert_eq!(kind(&fetch_with(settings(), request(&url, &["127.0.0.1"]))), FailureKind::TlsTooOld);
}
