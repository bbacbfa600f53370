//! Where the world is served: what stands around a host's name in its URLs.

use serde::{Deserialize, Serialize};

use crate::world::World;

/// The ports of a simnet as they stand in URLs: `:8080`, or nothing for the scheme's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ports {
    /// Behind the names of hosts on HTTP.
    http: String,
    /// Behind the names of hosts on HTTPS.
    https: String,
}

impl Ports {
    /// The ports as URLs write them.
    pub fn new(http: u16, https: u16) -> Self {
        let written = |port: u16, usual: u16| if port == usual { String::new() } else { format!(":{port}") };
        Self { http: written(http, 80), https: written(https, 443) }
    }

    /// What stands before and behind the host's name, and behind names in its zone.
    pub(crate) fn around(&self, world: &World, host: u32) -> (&'static str, &str) {
        if world.is_https(host) { ("https://", &self.https) } else { ("http://", &self.http) }
    }

    /// The URL of a path of a host.
    pub fn url(&self, world: &World, host: u32, path: &str) -> String {
        let (scheme, port) = self.around(world, host);
        format!("{scheme}{}{port}{path}", world.name(host))
    }
}
