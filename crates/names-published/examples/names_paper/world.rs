//! The simulated Internet's DNS, as its own model has it: what each name answers was asked of its real server, and the n-th
//! question about a name has the same fate whoever asks it.

use std::path::Path;

use lycosa_names::cache::{Addresses, Answer, Trouble};

/// What a name answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An address.
    Address,
    /// It has none.
    NoData,
    /// It does not exist.
    NxDomain,
    /// SERVFAIL.
    ServerFailure,
    /// Nothing.
    Dead,
}

impl Kind {
    /// All, with what they are called in files.
    pub(crate) const ALL: [(Kind, &str); 5] = [
        (Kind::Address, "address"),
        (Kind::NoData, "nodata"),
        (Kind::NxDomain, "nxdomain"),
        (Kind::ServerFailure, "servfail"),
        (Kind::Dead, "dead"),
    ];
}

/// A delay in milliseconds: lognormal, and a tail of its own (Pareto with alpha 1, cut off at its end).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delay {
    median: f64,
    sigma: f64,
    tail_share: f64,
    tail_from: f64,
    tail_to: f64,
}

impl Delay {
    /// Draws one.
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
    /// As it is asked for.
    pub(crate) name: Box<str>,
    /// What it answers.
    pub(crate) kind: Kind,
    /// For how long an address holds, in seconds.
    pub(crate) ttl: u32,
}

/// The world: its names, most popular first, and its delays.
pub(crate) struct World {
    /// Of DNS.
    latency: Delay,
    /// Share of datagrams that are lost.
    loss: f64,
    /// Of a page.
    http: Delay,
    /// Pages of a host in the mean.
    pub(crate) pages: f64,
    /// The names.
    pub(crate) hosts: Vec<Host>,
}

impl World {
    /// Reads `model` (a key and its numbers on each line) and `hosts` (name, kind and TTL on each line) of a folder.
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

    /// After how many milliseconds the n-th question about a host is answered, if it is.
    pub(crate) fn fate(&self, host: u32, number: u32) -> Option<f64> {
        let mut dice = Dice::new(1, u64::from(host), u64::from(number));
        let is_lost = self.hosts[host as usize].kind == Kind::Dead || dice.unit() < self.loss;
        (!is_lost).then(|| self.latency.draw(&mut dice))
    }

    /// After how many milliseconds the n-th page of a crawl is there.
    pub(crate) fn fetch(&self, number: u64) -> f64 {
        self.http.draw(&mut Dice::new(2, number, 0))
    }

    /// What a resolver learns of a host that answered, or did not.
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

/// Random numbers that are a function of what they are for (splitmix64).
pub(crate) struct Dice(u64);

impl Dice {
    /// Dice for a purpose and two numbers.
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

    /// A number below another one.
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
