//! A simulated Internet: deterministic by seed, served on loopback over real sockets, with a ledger of all requests.
//!
//! The path of one request: `listener` accepts → `http` reads the head → `world` finds the resource → `page` renders it →
//! `ledger` records it → `judge` judges. Nothing is stored per page: every page, link and redirect is a pure function of
//! the seed (`world.rs`), so that two worlds with one seed serve the same bytes, and pages cost no memory.

mod authority;
mod dns;
mod error;
mod figures;
mod habits;
mod hosts;
mod http;
mod http2;
mod judge;
mod later;
mod ledger;
mod listener;
mod mangle;
mod model;
mod model_check;
mod namespace;
mod nature;
mod network;
mod pace;
mod packed;
mod page;
mod params;
mod path;
mod ports;
mod query;
mod random;
mod report;
mod resolver;
mod robots;
mod secure;
mod series;
mod server;
mod socket;
mod text;
mod tls;
mod trap;
mod trouble;
mod trust;
mod verdict;
mod wire;
mod world;

pub use error::{Error, Result};
pub use figures::{Figures, Quantiles, Shares};
pub use judge::{ALWAYS, judge};
pub use ledger::file::{Damage, Header, Saved, read};
pub use ledger::{Kind, NONE, Question, Records, Request, WILD};
pub use model::{MAX_CNAMES, Model};
pub use namespace::enter_private_namespaces;
pub use nature::{Family, Gate, Lookup, Manner, Nature, Trap};
pub use params::{MAX_HOSTS, Params};
pub use ports::Ports;
pub use query::{Entry, Listing, Query};
pub use report::{
    Coverage, Flatness, Habit, Habits, Ignored, Pauses, Rate, RateViolation, Rates, Repeat, Repeats, Report,
    RobotsViolations, SpeedUp, Totals,
};
pub use robots::Robots;
pub use secure::{Certificate, Handshakes};
pub use series::{Busy, Series};
pub use server::Simnet;
pub use trouble::{PORTAL, PORTAL_NAME, Trouble};
pub use trust::Certificates;
pub use world::{Link, Place, Slot, World};
