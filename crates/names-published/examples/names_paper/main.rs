//! The experiment of SYSTEMS.md section 2, a million names of a breadth-first crawl resolved in five ways,
//! and the pre-resolution of section 3: the program of the `names_paper` benchmark.
//!
//!     names_paper learn SERVER NAMES                                   the answer of each name of a file, one per line
//!     names_paper simulate FOLDER COUNT                                both experiments, simulated, as JSON
//!     names_paper real FOLDER COUNT PART CONTESTANT SERVER SPEED       the first PART names with the real client, as JSON
//!
//! FOLDER contains `model`, the delays of the simulated Internet, and `hosts`, the output of `learn`.

#![allow(clippy::panic, clippy::expect_used, reason = "a benchmark program reports errors by panicking")]

mod asker;
mod contestants;
mod list;
#[path = "../../../names/examples/shared/no_cache.rs"]
mod no_cache;
mod queue;
mod real;
mod simulated;
mod world;

use std::path::Path;

use crate::contestants::{ALL, CHANGED, START};
use crate::queue::Plan;
use crate::simulated::Done;
use crate::world::{Kind, World};

/// Length of the queue of section 3, and the maximum number of URLs crawled.
const QUEUE: (usize, usize) = (1_000, 100_000);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<usize>().expect("a number");
    match words[..] {
        ["learn", server, names] => {
            let names = std::fs::read_to_string(names).expect("a readable file");
            real::learn(server.parse().expect("address:port"), &names);
        }
        ["simulate", folder, count] => {
            let world = World::read(Path::new(folder));
            simulate(&world, &list::breadth_first(&world, number(count)));
        }
        ["real", folder, count, part, contestant, server, speed] => {
            let world = World::read(Path::new(folder));
            let list = list::breadth_first(&world, number(count));
            let (server, speed) = (server.parse().expect("address:port"), speed.parse().expect("a number"));
            println!(
                "{}",
                row(contestant, &real::run(&world, &list[..number(part)], contestant, server, speed))
            );
        }
        _ => panic!("usage: names_paper learn|simulate|real …"),
    }
}

/// Prints the results of both simulations.
fn simulate(world: &World, list: &[u32]) {
    let ways = [&ALL[..], &CHANGED[..]].concat().into_iter().map(|(name, way, make)| {
        let mut cache = make(list.len(), START);
        row(name, &simulated::run(world, list, way, &mut *cache))
    });
    let ways: Vec<String> = ways.collect();
    let (length, most) = QUEUE;
    let urls = &list[..list.len().min(most)];
    let mut queues = Vec::new();
    for workers in [0, 1, length / 2, length] {
        for swaps in [false, true] {
            queues.push(served(world, urls, Plan { length, workers, swaps }));
        }
    }
    let mut seen = vec![false; world.hosts.len()];
    list.iter().for_each(|&host| seen[host as usize] = true);
    let distinct = seen.iter().filter(|seen| **seen).count();
    let silent = list.iter().filter(|&&host| world.hosts[host as usize].kind == Kind::Dead).count();
    println!(
        "{{\"names\": {}, \"distinct\": {distinct}, \"silent\": {silent}, \"hosts\": {}, \"queue\": {length}, \"urls\": {},\n\
         \"ways\": [\n{}\n],\n\"queues\": [\n{}\n]}}",
        list.len(),
        world.hosts.len(),
        urls.len(),
        ways.join(",\n"),
        queues.join(",\n"),
    );
}

/// The results of a contestant as JSON.
fn row(name: &str, done: &Done) -> String {
    let curve: Vec<String> = done.curve.iter().map(|seconds| format!("{seconds:.3}")).collect();
    format!(
        "{{\"name\": \"{name}\", \"resolved\": {}, \"hits\": {}, \"coalesced\": {}, \"questions\": {}, \
         \"window\": {}, \"curve\": [{}]}}",
        done.resolved,
        done.hits,
        done.coalesced,
        done.questions,
        done.window,
        curve.join(", "),
    )
}

/// The results of a queue as JSON.
fn served(world: &World, urls: &[u32], plan: Plan) -> String {
    let mut served = queue::run(world, urls, plan);
    let count = served.waits.len();
    served.waits.sort_by(f64::total_cmp);
    let at = |share: f64| served.waits[((count as f64 * share) as usize).min(count - 1)];
    format!(
        "{{\"workers\": {}, \"swaps\": {}, \"urls\": {count}, \"wait\": {:.6}, \"p95\": {:.6}, \"p99\": {:.6}, \
         \"waited\": {:.6}, \"idle\": {:.6}, \"swapped\": {:.6}, \"seconds\": {:.1}, \"forward\": {:.6}, \"reverse\": {:.6}, \
         \"questions\": {}}}",
        plan.workers,
        plan.swaps,
        served.waits.iter().sum::<f64>() / count as f64,
        at(0.95),
        at(0.99),
        served.waits.iter().filter(|wait| **wait > 0.0).count() as f64 / count as f64,
        served.idle / count as f64,
        served.swaps as f64 / count as f64,
        served.end,
        served.regions[0] as f64 / count as f64,
        served.regions[1] as f64 / count as f64,
        served.questions,
    )
}
