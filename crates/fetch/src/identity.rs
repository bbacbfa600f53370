//! Signs requests, by which sites recognise the crawler (Web Bot Auth: draft-meunier-webbotauth-httpsig-protocol, of August 2026; HTTP
//! Message Signatures: RFC 9421).
//!
//! Signed are the site's authority and the place of the public key, for [`VALID_FOR`] seconds: whoever reads a request can send its
//! signature to the same site until then, and to no other site. Nobody between reads it: only requests over TLS are signed.

use std::fmt;
use std::io;
use std::path::Path;

use aws_lc_rs::rand::{SecureRandom as _, SystemRandom};
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::header::{HeaderMap, HeaderName, HeaderValue};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject as _;
use sha2::{Digest as _, Sha256};

use crate::secret;

/// The time in seconds for which a signature is valid: requests take a while, and clocks of servers differ.
const VALID_FOR: u64 = 300;

/// Seconds by which a signature begins earlier: a server whose clock is behind would not accept it.
const EARLIER: u64 = 30;

/// The signature's label, in all three fields.
const LABEL: &str = "sig1";

/// A key, and where sites find its public half.
pub struct Identity {
    key: Ed25519KeyPair,
    key_id: Box<str>,
    agent: Box<str>,
}

impl Identity {
    /// The identity of a PEM file with a private key (PKCS #8, Ed25519) and of the origin whose key directory has the public key.
    ///
    /// # Errors
    ///
    /// The file cannot be read, others than its owner may read it, or it has no such key; `agent` is no `https` origin.
    pub fn open(file: &Path, agent: &str) -> io::Result<Self> {
        let refuse = |why: String| io::Error::new(io::ErrorKind::InvalidInput, why);
        let named = |why: &dyn fmt::Display| refuse(format!("{}: {why}", file.display()));
        secret::check(file).map_err(|why| named(&why))?;
        let key = PrivatePkcs8KeyDer::from_pem_file(file).map_err(|error| named(&error))?;
        Self::new(key.secret_pkcs8_der(), agent).map_err(|why| named(&why))
    }

    /// The identity of a private key in PKCS #8.
    pub fn new(key: &[u8], agent: &str) -> Result<Self, &'static str> {
        let key = Ed25519KeyPair::from_pkcs8_maybe_unchecked(key).map_err(|_| "no Ed25519 key")?;
        let agent = agent.strip_suffix('/').unwrap_or(agent);
        if !is_origin(agent) {
            return Err("the agent is no https origin, such as https://bot.example.org");
        }
        let key_id = thumbprint(&encoded(key.public_key().as_ref())).into();
        Ok(Identity { key, key_id, agent: agent.into() })
    }

    /// The origin whose key directory has the public key.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// The public key, as `x` of a JSON Web Key (RFC 8037).
    pub fn public_key(&self) -> String {
        encoded(self.key.public_key().as_ref())
    }

    /// The key's name: its thumbprint (RFC 7638, RFC 8037 appendix A.3).
    pub fn key_id(&self) -> &str {
        &self.key_id
    }

    /// Adds the fields that sign a request to an authority at this time, in seconds since the epoch.
    pub(crate) fn sign(&self, headers: &mut HeaderMap, authority: &str, now: u64) {
        let agent = &self.agent;
        let components = [
            ("\"@authority\"", authority),
            (&format!("\"signature-agent\";key=\"{LABEL}\""), &format!("\"{agent}\"")),
        ];
        let times = (now.saturating_sub(EARLIER), now.saturating_add(VALID_FOR));
        let [input, signature] = self.signed(&components, times, "web-bot-auth");
        let agent = ("signature-agent", format!("{LABEL}=\"{agent}\""));
        for (name, value) in [agent, ("signature-input", input), ("signature", signature)] {
            // All parts are visible ASCII: an origin, numbers, base64.
            if let Ok(value) = HeaderValue::from_maybe_shared(value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
    }
}

impl Identity {
    /// The values of Content-Digest, Signature-Input and Signature with which the agent's site serves its key directory, so that nobody else
    /// can serve it as his own (the draft's appendix on proof of possession). Valid from `created` to `expires`, in seconds since the epoch.
    pub fn sign_directory(&self, directory: &[u8], created: u64, expires: u64) -> [String; 3] {
        let authority = self.agent.trim_start_matches("https://");
        let digest = format!("sha-256=:{}:", STANDARD.encode(Sha256::digest(directory)));
        let components = [("\"@authority\";req", authority), ("\"content-digest\"", &digest)];
        let [input, signature] =
            self.signed(&components, (created, expires), "http-message-signatures-directory");
        [digest, input, signature]
    }

    /// The values of Signature-Input and Signature for components of a message, each with its value (RFC 9421 section 2.5).
    fn signed(&self, components: &[(&str, &str)], (created, expires): (u64, u64), tag: &str) -> [String; 2] {
        let (names, lines): (Vec<&str>, Vec<String>) =
            components.iter().map(|(name, value)| (*name, format!("{name}: {value}\n"))).unzip();
        let (names, lines, key_id) = (names.join(" "), lines.concat(), &self.key_id);
        let parameters = format!(
            "({names});created={created};expires={expires};keyid=\"{key_id}\";alg=\"ed25519\";tag=\"{tag}\""
        );
        let signature = self.key.sign(format!("{lines}\"@signature-params\": {parameters}").as_bytes());
        [format!("{LABEL}={parameters}"), format!("{LABEL}=:{}:", STANDARD.encode(signature))]
    }
}

impl fmt::Debug for Identity {
    /// Without the private key.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Identity").field("key_id", &self.key_id).field("agent", &self.agent).finish()
    }
}

/// What precedes the 32 bytes of an Ed25519 private key in PKCS #8 (RFC 8410 section 7), of version 1: OpenSSL reads no other.
const PKCS8: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];

/// A new private key, in PKCS #8; fails if the system has no random numbers.
pub fn new_key() -> io::Result<Vec<u8>> {
    let mut key = [&PKCS8[..], &[0; 32]].concat();
    let filled = SystemRandom::new().fill(&mut key[PKCS8.len()..]);
    filled.map(|()| key).map_err(|_| io::Error::other("no random numbers"))
}

/// Bytes in base64url without padding.
fn encoded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The thumbprint of an Ed25519 key whose `x` is this: the digest of its JSON Web Key in canonical form.
fn thumbprint(x: &str) -> String {
    encoded(&Sha256::digest(format!("{{\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"{x}\"}}")))
}

/// Whether a text is the ASCII serialisation of an `https` origin (RFC 6454 section 6.2).
fn is_origin(text: &str) -> bool {
    lycosa_url::CrawlUrl::parse(text).is_ok_and(|url| url.is_https() && url.origin() == text)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// The key of RFC 9421 appendix B.1.4, in PKCS #8, and its thumbprint, as the examples of the draft have it.
    const KEY: &str = "MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF";
    const KEY_ID: &str = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";

    fn identity() -> Identity {
        Identity::new(&STANDARD.decode(KEY).unwrap(), "https://signature-agent.test/").unwrap()
    }

    #[test]
    fn the_key_of_the_rfc_has_its_thumbprint() {
        assert_eq!(identity().public_key(), "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs");
        assert_eq!(identity().key_id(), KEY_ID);
    }

    #[test]
    fn an_agent_is_an_https_origin() {
        let key = new_key().unwrap();
        for agent in
            ["http://bot.example", "https://bot.example/page", "bot.example", "https://Bot.example", ""]
        {
            assert!(Identity::new(&key, agent).is_err(), "{agent}");
        }
        assert!(Identity::new(&key, "https://bot.example:8443").is_ok());
    }

    #[test]
    fn a_key_file_that_others_may_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key.pem");
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{KEY}\n-----END PRIVATE KEY-----\n");
        std::fs::write(&file, pem).unwrap();
        let open = |mode: u32| {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            Identity::open(&file, "https://bot.example").map(|_| ()).map_err(|error| error.to_string())
        };
        assert!(open(0o640).unwrap_err().contains("others may read it (mode 640)"));
        open(0o600).unwrap();
        std::fs::write(&file, "no key").unwrap();
        assert!(open(0o600).unwrap_err().starts_with(&file.display().to_string()));
    }
}
