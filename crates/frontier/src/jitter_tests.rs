//! Hosts that failed at one moment: their tries are spread, and a restart changes none of them.

use std::collections::BTreeMap;

use lycosa_records::{Outcome, Request};
use lycosa_url::{CrawlUrl, Micros};

use crate::scripted::{Names, SECOND, answer, frontier, patient, url};
use crate::{Frontier, Settings};

/// Hosts that fail at once.
const HOSTS: u32 = 1_000;

/// Settings of a job that did not change the jitter.
fn jittered() -> Settings {
    Settings { retry_jitter: 0.25, ..patient() }
}

/// A page of each host, each of a network of its own.
fn seeds(names: &Names) -> Vec<CrawlUrl> {
    let seed = |number: u32| {
        let address = format!("93.{}.{}.1", number / 250, number % 250).parse().unwrap();
        names.addresses.borrow_mut().insert(format!("host{number}.com"), address);
        url(&format!("http://host{number}.com/"))
    };
    (0..HOSTS).map(seed).collect()
}

/// Every host refuses its first three requests, each in words of its own.
fn overloaded(request: Request, now: Micros) -> Outcome {
    let (status, title) =
        (if request.attempt < 3 { 429 } else { 200 }, format!("<title>{}</title>", request.url.host()));
    answer(request, now, status, &[], &title, &[])
}

/// Runs a crawl from then on to its end: when each host was asked. `recorded` gets the outcomes of the first turns, so many.
fn run(
    frontier: &mut Frontier<Names>,
    from: Micros,
    mut turns: usize,
    recorded: &mut Vec<Outcome>,
) -> BTreeMap<String, Vec<Micros>> {
    let (mut now, mut asked) = (from, BTreeMap::<_, Vec<_>>::new());
    while !frontier.idle() {
        let requests = frontier.take(HOSTS as usize, now).unwrap();
        for request in &requests {
            asked.entry(request.url.host().to_owned()).or_default().push(now);
        }
        let mut pages: Vec<Outcome> = requests.into_iter().map(|request| overloaded(request, now)).collect();
        frontier.judge(&mut pages);
        frontier.done(&pages, now).unwrap();
        if turns > 0 {
            turns -= 1;
            recorded.append(&mut pages);
        }
        now += SECOND / 10;
        assert!(now < 3_600 * SECOND, "the crawl does not end");
    }
    asked
}

/// The most hosts that were asked in one tenth of a second for their try of this number.
fn most_at_once(asked: &BTreeMap<String, Vec<Micros>>, attempt: usize) -> usize {
    let mut at_once = BTreeMap::<Micros, usize>::new();
    asked
        .values()
        .filter_map(|times| times.get(attempt))
        .for_each(|at| *at_once.entry(*at).or_default() += 1);
    at_once.into_values().max().unwrap_or(0)
}

#[test]
fn a_thousand_hosts_that_failed_at_once_are_tried_again_one_after_another() {
    let run_with = |settings: Settings| {
        let (mut frontier, names) = frontier(settings);
        frontier.add(&seeds(&names), 0).unwrap();
        run(&mut frontier, 0, 0, &mut Vec::new())
    };
    let (alike, spread) = (run_with(patient()), run_with(jittered()));
    assert_eq!([0, 1, 2, 3].map(|attempt| most_at_once(&alike, attempt)), [1_000; 4]);
    let most = [0, 1, 2, 3].map(|attempt| most_at_once(&spread, attempt));
    // Of the first pause, 10 s, a quarter is 25 tenths of a second; of the second one, 50.
    assert!(most[0] == 1_000 && most[1] < 80 && most[2] < 50 && most[3] < 35, "{most:?}");
    for (host, times) in &spread {
        let pauses: Vec<Micros> = times.windows(2).map(|two| two[1] - two[0]).collect();
        for (pause, least) in pauses.iter().zip([10, 20, 40]) {
            let least = least * SECOND;
            assert!((least..=least + least / 4 + SECOND / 10).contains(pause), "{host}: {pauses:?}");
        }
    }
}

#[test]
fn a_restart_tries_every_host_again_when_the_process_before_would_have() {
    let (mut first, names) = frontier(jittered());
    let seeds = seeds(&names);
    first.add(&seeds, 0).unwrap();
    let mut recorded = Vec::new();
    let undisturbed = run(&mut first, 0, 130, &mut recorded);
    assert!(recorded.len() > HOSTS as usize, "second tries, too");
    // It is killed after 13 seconds; the next one replays its log.
    let mut second = Frontier::new(jittered(), names).unwrap();
    let mut restore = second.restore();
    seeds.iter().for_each(|seed| restore.seed(&Request::get(seed.clone())).unwrap());
    recorded.iter().for_each(|page| restore.outcome(page).unwrap());
    restore.finish(13 * SECOND).unwrap();
    let restarted = run(&mut second, 13 * SECOND, 0, &mut Vec::new());
    assert_eq!(restarted.len(), HOSTS as usize);
    for (host, times) in &restarted {
        let expected: Vec<Micros> =
            undisturbed[host].iter().copied().filter(|at| *at >= 13 * SECOND).collect();
        assert_eq!(times, &expected, "{host}");
    }
}
