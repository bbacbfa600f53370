//! The simulated Internet's DNS by its own model: the answers come from its real server, and the n-th
//! question about a name has the same result whoever asks it.

use std::path::Path;

use lycosa_names::cache::{Addresses, Answer, Trouble};

/// Kind of answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An address.
    Address,
    /// The name has no address.
    NoData,
    /// The name does not exist.
    NxDomain,
    /// SERVFAIL.
    ServerFailure,
    /// No answer.
    Dead,
}

impl Kind {
    /// All kinds with their names in files.
    pub(crate) const ALL: [(Kind, &str); 5] = [
        (Kind::Address, "address"),
        (Kind::NoData, "nodata"),
        (Kind::NxDomain, "nxdomain"),
        (Kind::ServerFailure, "servfail"),
        (Kind::Dead, "dead"),
    ];
}

/// A delay in milliseconds: lognormal, with a separate tail (Pareto with alpha 1, truncated).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delay {
    median: f64,
    sigma: f64,
    tail_share: f64,
    tail_from: f64,
    tail_to: f64,
}

impl Delay {
    /// Draws a delay.
    fn draw(&self, dice: &mut Dice) -> f64 {
        if dice.unit() < self.tail_share {
            return self.tail_from / (1.0 - dice.unit() * (1.0 - self.tail_from / self.tail_to));
        }
        let normal = (-2.0 * (1.0 - dice.unit()).ln()).sqrt() * (std::f64::consts::TAU * dice.unit()).cos();
        self.median * (self.sigma * normal).exp()
    }
}

/// A name.
pub(crate) struct Host {
    /// The name as text.
    pub(crate) name: Box<str>,
    /// Kind of its answer.
    pub(crate) kind: Kind,
    /// TTL of its address in seconds.
    pub(crate) ttl: u32,
}

/// The world: its names, most popular first, and its delays.
pub(crate) struct World {
    /// DNS delay.
    latency: Delay,
    /// Share of datagrams lost.
    loss: f64,
    /// Page delay.
    http: Delay,
    /// Mean number of pages per host.
    pub(crate) pages: f64,
    /// The hosts.
    pub(crate) hosts: Vec<Host>,
}

impl World {
    /// Reads `model` (a key and its numbers per line) and `hosts` (name, kind and TTL per line) from a
    /// directory.
    pub(crate) fn read(folder: &Path) -> Self {
        let text = |name| std::fs::read_to_string(folder.join(name)).expect("a readable file");
        let model = text("model");
        let numbers = |key: &str| -> Vec<f64> {
            let line = model.lines().find(|line| line.split(' ').next() == Some(key)).expect("every key");
            line.split(' ').skip(1).map(|number| number.parse().expect("a number")).collect()
        };
        let delay = |key| match *numbers(key) {
            [median, sigma, tail_share, tail_from, tail_to] => {
                Delay { median, sigma, tail_share, tail_from, tail_to }
            }
            _ => panic!("{key}: five numbers"),
        };
        let host = |line: &str| match *line.split(' ').collect::<Vec<_>>() {
            [name, called, ttl] => Host {
                name: name.into(),
                kind: Kind::ALL.iter().find(|(_, name)| *name == called).expect("a kind").0,
                ttl: ttl.parse().expect("seconds"),
            },
            _ => panic!("{line}: name, kind and TTL"),
        };
        World {
            latency: delay("latency"),
            loss: numbers("loss")[0],
            http: delay("http"),
            pages: numbers("pages")[0],
            hosts: text("hosts").lines().map(host).collect(),
        }
    }

    /// Milliseconds until the n-th question about a host is answered; `None` if it is not.
    pub(crate) fn fate(&self, host: u32, number: u32) -> Option<f64> {
        let mut dice = Dice::new(1, u64::from(host), u64::from(number));
        let is_lost = self.hosts[host as usize].kind == Kind::Dead || dice.unit() < self.loss;
        (!is_lost).then(|| self.latency.draw(&mut dice))
    }

    /// Milliseconds until the n-th page of a crawl is fetched.
    pub(crate) fn fetch(&self, number: u64) -> f64 {
        self.http.draw(&mut Dice::new(2, number, 0))
    }

    /// The answer that a resolver gets for a host that answered or did not.
    pub(crate) fn answer(&self, host: u32, answered: bool) -> Answer {
        let failed = |trouble| Answer::Failed { trouble, attempts: 1 };
        match self.hosts[host as usize].kind {
            _ if !answered => failed(Trouble::TimeOut),
            Kind::Address => {
                Answer::Addresses(Addresses { v4: vec![(0x0a00_0000 + host).into()], v6: Vec::new() })
            }
            Kind::NoData => Answer::NoData,
            Kind::NxDomain => Answer::NxDomain,
            Kind::ServerFailure => failed(Trouble::ServerFailure),
            Kind::Dead => failed(Trouble::TimeOut),
        }
    }
}

/// Random numbers that depend only on their purpose (splitmix64).
pub(crate) struct Dice(u64);

impl Dice {
    /// A generator for a purpose and two numbers.
    pub(crate) fn new(purpose: u64, a: u64, b: u64) -> Self {
        Dice(mix(mix(mix(purpose).wrapping_add(a)).wrapping_add(b)))
    }

    /// 64 random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number from 0 to 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A random number below a limit.
    pub(crate) fn below(&mut self, limit: u32) -> u32 {
        (((self.bits() >> 32) * u64::from(limit)) >> 32) as u32
    }
}

/// Spreads a number over all bits.
fn mix(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}
