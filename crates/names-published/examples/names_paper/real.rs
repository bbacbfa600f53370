//! The real client, which asks the simulated Internet's DNS server on loopback.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use lycosa_names::{Client, Settings};
use lycosa_url::{Clock, FailureKind, Resolved};

use crate::contestants::ALL;
use crate::no_cache::NoCache;
use crate::simulated::Done;
use crate::world::{Kind, World};

/// Names in flight during `learn`.
const LEARNERS: usize = 1_000;

/// Polling interval for answers.
const LOOK: Duration = Duration::from_millis(100);

/// Resolves each name; prints name, kind and TTL, one line each.
pub(crate) fn learn(server: SocketAddr, names: &str) {
    let settings = Settings {
        // Each entry has its own window, so that dead names do not block the others.
        servers: vec![server.into(); 8],
        timeout: Duration::from_millis(200),
        in_flight: LEARNERS,
        min_ttl: Duration::ZERO,
        max_ttl: Duration::from_secs(u32::MAX.into()),
        ..Settings::default()
    };
    let clock = settings.clock;
    let client = Client::start(settings, Box::new(NoCache)).expect("a client");
    let asked: Vec<Box<str>> = names.lines().map(Box::from).collect();
    client.submit(asked.clone());
    let mut found: HashMap<Box<str>, (Kind, u32)> = HashMap::new();
    let mut answers = Vec::new();
    while found.len() < asked.len() {
        client.wait(LOOK);
        client.drain(&mut answers);
        let now = clock.now();
        found.extend(answers.drain(..).map(|answer| {
            let seconds = answer.expires.saturating_sub(now).div_ceil(1_000_000);
            let (kind, ttl) = (kind(&answer), u32::try_from(seconds).unwrap_or(u32::MAX));
            (answer.name, (kind, ttl))
        }));
    }
    for name in asked {
        let (kind, ttl) = found[&name];
        let called = Kind::ALL.iter().find(|(each, _)| *each == kind).expect("all kinds").1;
        println!("{name} {called} {ttl}");
    }
}

/// The kind of an answer.
fn kind(answer: &Resolved) -> Kind {
    match answer.result.as_ref().map_err(|failure| failure.kind) {
        Ok(_) => Kind::Address,
        Err(FailureKind::NameNotFound) => Kind::NxDomain,
        Err(FailureKind::NameNoData) => Kind::NoData,
        Err(FailureKind::NameServerFailure) => Kind::ServerFailure,
        Err(_) => Kind::Dead,
    }
}

/// Resolves a list with one contestant at a speed-up; times are unscaled.
pub(crate) fn run(world: &World, list: &[u32], contestant: &str, server: SocketAddr, speed: f64) -> Done {
    let (_, way, make) = ALL.into_iter().find(|(name, ..)| *name == contestant).expect("a contestant");
    let clock = Clock::shared();
    let settings = Settings {
        servers: vec![server.into()],
        timeout: Settings::default().timeout.div_f64(speed),
        in_flight: way.in_flight,
        speed,
        clock,
        ..Settings::default()
    };
    let cache = make(list.len(), clock.now() / 1_000_000);
    let client = Client::start(settings, cache).expect("a client");
    let numbers: HashMap<&str, u32> =
        (0..).zip(&world.hosts).map(|(number, host)| (&*host.name, number)).collect();
    // Waiting list entries by host: one answer completes all that were submitted before it arrived.
    let mut waiting = vec![0_usize; world.hosts.len()];
    let (mut next, mut done, mut answers) = (0, Done::default(), Vec::new());
    let began = Instant::now();
    while done.resolved < list.len() {
        let space = way.handed.saturating_sub(client.pending());
        let end = list.len().min(next + space);
        let handed = &list[next..end];
        handed.iter().for_each(|&host| waiting[host as usize] += 1);
        client.submit(handed.iter().map(|&host| world.hosts[host as usize].name.clone()).collect());
        next = end;
        client.wait(if next < list.len() { Duration::from_millis(1) } else { LOOK });
        client.drain(&mut answers);
        let at = began.elapsed().as_secs_f64() * speed;
        for answer in answers.drain(..) {
            let host = numbers[&*answer.name] as usize;
            done.resolve(std::mem::take(&mut waiting[host]), at, list.len());
        }
    }
    let statistics = client.statistics();
    (done.hits, done.coalesced) = (statistics.cache_hits, statistics.coalesced);
    done.questions = statistics.questions;
    done.window = client.upstreams()[0].window;
    done
}
