//! Ports of the simnet, and the schemes and ports of its URLs.

use serde::{Deserialize, Serialize};

use crate::world::World;

/// The ports of a simnet as written in URLs: `:8080`, or empty for the scheme's default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ports {
    /// Suffix for hosts on HTTP.
    http: String,
    /// Suffix for hosts on HTTPS.
    https: String,
}

impl Ports {
    /// Formats the ports.
    pub fn new(http: u16, https: u16) -> Self {
        let written = |port: u16, usual: u16| if port == usual { String::new() } else { format!(":{port}") };
        Self { http: written(http, 80), https: written(https, 443) }
    }

    /// Prefix (scheme) and suffix (port) of the host's name, and of names in its zone, in a URL.
    pub(crate) fn around(&self, world: &World, host: u32) -> (&'static str, &str) {
        if world.is_https(host) { ("https://", &self.https) } else { ("http://", &self.http) }
    }

    /// The URL of a host and a path.
    pub fn url(&self, world: &World, host: u32, path: &str) -> String {
        let (scheme, port) = self.around(world, host);
        format!("{scheme}{}{port}{path}", world.name(host))
    }
}
