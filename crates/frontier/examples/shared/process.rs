//! What the examples of the frontier share: names that are answered at once, and what the process costs.

use std::net::IpAddr;

use lycosa_frontier::Resolve;
use lycosa_url::{NameClass, Resolved};
use nix::sys::resource::{UsageWho, getrusage};

/// Answers at once; every host has an address of its own.
#[derive(Default)]
pub(crate) struct Names(Vec<Resolved>);

impl Resolve for Names {
    fn submit(&mut self, names: Vec<Box<str>>) {
        for name in names {
            let number: u32 = name[1..].split_once('.').and_then(|(n, _)| n.parse().ok()).unwrap_or_default();
            let address = IpAddr::V4((u32::from_be_bytes([93, 0, 0, 0]) + number).into());
            self.0.push(Resolved {
                name,
                elapsed_us: 0,
                expires: u64::MAX / 2,
                class: NameClass::Fast,
                result: Ok(vec![address]),
                lost: None,
            });
        }
    }

    fn refresh(&mut self, names: Vec<Box<str>>) {
        self.submit(names);
    }

    fn drain(&mut self, into: &mut Vec<Resolved>) {
        into.append(&mut self.0);
    }
}

/// CPU seconds of this process.
pub(crate) fn cpu() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_SELF).unwrap_or_else(|_| std::process::exit(1));
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    seconds(usage.user_time()) + seconds(usage.system_time())
}

/// A line of this process's status, in bytes.
pub(crate) fn memory(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.split_ascii_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or_default() * 1024
}
