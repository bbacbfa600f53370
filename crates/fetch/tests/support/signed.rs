//! Verifies signatures of requests with the crate of those who check them.

use lycosa_fetch::Identity;
use web_bot_auth::components::{CoveredComponent, DerivedComponent, HTTPFieldParameters};
use web_bot_auth::keyring::{KeyRing, Thumbprintable};
use web_bot_auth::message_signatures::{MessageVerifier, SignedMessage};
use web_bot_auth::{SignatureAgentLink, WebBotAuthVerifier};

/// The agent of [`identity`].
pub(crate) const AGENT: &str = "https://bot.example.org";

/// An identity with a new key.
pub(crate) fn identity() -> Identity {
    Identity::new(&lycosa_fetch::new_key().unwrap(), AGENT).unwrap()
}

/// A message: its authority, and what it has in its fields.
pub(crate) struct Message<'a> {
    pub(crate) authority: &'a str,
    pub(crate) fields: &'a dyn Fn(&str) -> Option<String>,
}

impl SignedMessage for Message<'_> {
    fn lookup_component(&self, component: &CoveredComponent) -> Vec<String> {
        match component {
            CoveredComponent::HTTP(field) => {
                let key = field.parameters.0.iter().find_map(|parameter| match parameter {
                    HTTPFieldParameters::Key(key) => Some(format!("{key}=")),
                    _ => None,
                });
                let value = (self.fields)(&field.name);
                // A member of a dictionary that has no other.
                value.and_then(|value| Some(value.strip_prefix(&key.unwrap_or_default())?.to_owned()))
            }
            CoveredComponent::Derived(DerivedComponent::Authority { .. }) => Some(self.authority.to_owned()),
            CoveredComponent::Derived(_) => None,
        }
        .into_iter()
        .collect()
    }
}

/// The keys that the directory of an identity has.
pub(crate) fn keys(identity: &Identity) -> KeyRing {
    let key = Thumbprintable::OKP { crv: "Ed25519".to_owned(), x: identity.public_key() };
    let mut keys = KeyRing::default();
    keys.try_import_jwk(&key).unwrap();
    keys
}

/// Whether a request is signed by a key, for its authority, with the agent's directory, and for now.
pub(crate) fn is_signed(message: &Message<'_>, keys: &KeyRing) -> bool {
    let verifier = WebBotAuthVerifier::parse(message).unwrap();
    assert_eq!(*verifier.get_signature_agents(), [SignatureAgentLink::External(AGENT.to_owned())]);
    let advice = verifier.get_parsed_label().base.parameters.details.possibly_insecure(|_| false);
    assert!(!advice.is_expired.unwrap());
    verifier.verify(keys, None).is_ok()
}

/// Whether a key directory is signed by a key, for its authority.
pub(crate) fn is_directory_signed(message: &Message<'_>, keys: &KeyRing) -> bool {
    let is_for_directory = |details: Option<&str>| details == Some("http-message-signatures-directory");
    let verifier = MessageVerifier::parse(message, |(_, list)| {
        is_for_directory(list.params.get("tag").and_then(|tag| tag.as_string()).map(|tag| tag.as_str()))
    });
    verifier.unwrap().verify(keys, None).is_ok()
}
