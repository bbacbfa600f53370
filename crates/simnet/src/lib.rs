//! A simulated Internet: deterministic by seed, served on loopback over real sockets, with a ledger of all it served.
//!
//! The way of one request: `server` accepts → `http` reads the head → `world` says what lives there → `page` renders it →
//! `ledger` records it → `judge` judges. Nothing is stored per page: every page, link and redirect is a pure function of
//! the seed (`world.rs`), so two worlds with one seed serve the same bytes and a large world costs no memory.

mod authority;
mod dns;
mod error;
mod hosts;
mod http;
mod http2;
mod judge;
mod ledger;
mod namespace;
mod page;
mod params;
mod path;
mod ports;
mod random;
mod report;
mod robots;
mod secure;
mod server;
mod socket;
mod text;
mod tls;
mod trust;
mod wire;
mod world;

pub use error::{Error, Result};
pub use judge::judge;
pub use ledger::{Kind, NONE, Question, Records, Request};
pub use namespace::enter_private_namespaces;
pub use params::{MAX_HOSTS, Params};
pub use ports::Ports;
pub use report::{Coverage, Rate, RateViolation, Rates, Repeat, Repeats, Report, RobotsViolations, Totals};
pub use robots::Robots;
pub use secure::{Certificate, Handshakes};
pub use server::Simnet;
pub use trust::Certificates;
pub use world::{Link, Place, Slot, World};
