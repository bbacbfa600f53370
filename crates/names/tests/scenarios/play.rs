//! Plays a scenario: the real client, its servers, and the lines that query and check.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use lycosa_names::cache::compact::{CompactCache, CompactSettings};
use lycosa_names::{Client, Families, Settings};
use lycosa_url::{Clock, Micros, Script as Hands};

use super::message::{Entry, SECTIONS, Words};
use super::server::Script;

/// The start of scenarios, in microseconds since 1970: the start of a minute, the unit of the cache.
const START: Micros = 1_900_000_020_000_000;

/// The longest wait for answers, by the machine's clock; reached only by failures.
const LONGEST: Duration = Duration::from_secs(30);

/// A server whose port is closed.
const CLOSED: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1);

/// An answer in the form of scripts.
struct Told {
    text: String,
    detail: String,
    seconds: u64,
}

/// A scenario in progress.
pub(crate) struct Play {
    client: Client,
    clock: Clock,
    hands: &'static Hands,
    script: Arc<Script>,
    addresses: Vec<SocketAddr>,
    answers: HashMap<String, Told>,
}

impl Play {
    /// Starts servers and client.
    pub(crate) fn start(config: &Words, entries: Vec<Entry>) -> Play {
        let number =
            |key: &str, default: u64| config.get(key).map_or(default, |value| value.parse().unwrap());
        let is = |key: &str, default: bool| config.get(key).map_or(default, |value| value == "yes");
        let seconds = |key: &str, default: Duration| Duration::from_secs(number(key, default.as_secs()));
        let (clock, hands) = Clock::scripted(START);
        let script = Script::new(entries, hands);
        let families = config.get("families").map_or("v4", String::as_str);
        let closed = number("closed", 0) as usize;
        let start = |server| if server == closed { CLOSED } else { script.serve(server) };
        let addresses: Vec<SocketAddr> = (1..=number("servers", 1) as usize).map(start).collect();
        let usual = Settings::default();
        let settings = Settings {
            servers: addresses.iter().map(|address| (*address).into()).collect(),
            timeout: Duration::from_millis(number("timeout", 2_000)),
            attempts: number("attempts", 4) as u32,
            families: match families {
                "v4" => Families::V4,
                "v6" => Families::V6,
                _ => Families::Both,
            },
            prefer_v4: families == "prefer-v4",
            in_flight: number("in-flight", usual.in_flight as u64) as usize,
            min_ttl: seconds("min-ttl", usual.min_ttl),
            max_ttl: seconds("max-ttl", usual.max_ttl),
            negative_ttl: seconds("negative-ttl", usual.negative_ttl),
            special_use: is("special-use", usual.special_use),
            nxdomain_cut: is("nxdomain-cut", usual.nxdomain_cut),
            rotate: is("rotate", usual.rotate),
            clock,
            ..usual
        };
        let cache = CompactSettings {
            capacity: 1_000,
            negative_capacity: Some(0),
            min_ttl: (settings.min_ttl.as_secs() as u32).max(60),
            ..CompactSettings::default()
        };
        let cache = CompactCache::in_memory(cache, START / 1_000_000, None).unwrap();
        let client = Client::start(settings, Box::new(cache)).unwrap();
        Play { client, clock, hands, script, addresses, answers: HashMap::new() }
    }

    /// Submits names without waiting.
    fn ask(&self, words: &[&str], past_cache: bool) {
        let names = words.iter().flat_map(|word| names(word)).map(Into::into).collect();
        if past_cache {
            self.client.refresh(names);
        } else {
            self.client.submit(names);
        }
    }

    /// Waits for all answers.
    fn collect(&mut self) {
        let (mut answers, began) = (Vec::new(), Instant::now());
        while self.client.pending() > 0 {
            self.client.drain(&mut answers);
            let pending = self.client.pending();
            assert!(began.elapsed() < LONGEST, "{pending} names without answer");
            std::thread::sleep(Duration::from_millis(1));
        }
        let now = self.clock.now();
        let mut told = HashMap::new();
        for answer in answers {
            let seconds = answer.expires.saturating_sub(now).div_ceil(1_000_000);
            let (text, detail) = match answer.result {
                Ok(addresses) => {
                    (addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "), String::new())
                }
                Err(failure) => (failure.kind.as_str().to_owned(), failure.detail.to_string()),
            };
            let before = told.insert(answer.name.to_string(), Told { text, detail, seconds });
            assert!(before.is_none(), "two answers for {}", answer.name);
        }
        self.answers.extend(told);
    }

    /// The last answer for a name.
    fn answer(&self, name: &str) -> &Told {
        self.answers.get(name).unwrap_or_else(|| panic!("no answer for {name}"))
    }

    /// Waits until a counter has reached a number.
    fn wait_for(&self, key: &str, number: u64) {
        let began = Instant::now();
        while self.count(key) < number {
            assert!(began.elapsed() < LONGEST, "{} {key}", self.count(key));
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// A counter of the client.
    fn count(&self, key: &str) -> u64 {
        let counts = self.client.statistics();
        match key {
            "questions" => counts.questions,
            "answers" => counts.answers,
            "cache-hits" => counts.cache_hits,
            "coalesced" => counts.coalesced,
            "retries" => counts.retries,
            "timeouts" => counts.timeouts,
            "mismatched" => counts.mismatched,
            "case-mismatched" => counts.case_mismatched,
            "truncated" => counts.truncated,
            "slow" => counts.slow,
            "failed" => counts.failed,
            other => panic!("{other} is not counted"),
        }
    }

    /// Plays a line; returns its number of checks.
    pub(crate) fn line(&mut self, words: &[&str]) -> usize {
        match words {
            ["QUERY" | "REFRESH", names @ ..] => {
                self.ask(names, words[0] == "REFRESH");
                self.collect();
            }
            ["ASK", names @ ..] => self.ask(names, false),
            ["UNTIL", key, number] => self.wait_for(key, number.parse().unwrap()),
            ["PASS", seconds] => self.hands.advance(Duration::from_secs(seconds.parse().unwrap())),
            ["CHECK", name, expected @ ..] => {
                let expected = expected.join(" ");
                let all = names(name);
                all.iter().for_each(|name| assert_eq!(self.answer(name).text, expected, "CHECK {name}"));
                return all.len();
            }
            ["DETAIL", name, text @ ..] => {
                let detail = &self.answer(name).detail;
                assert!(detail.contains(&text.join(" ")), "DETAIL {name}: {detail}");
            }
            ["HOLDS", name, seconds] => {
                assert_eq!(self.answer(name).seconds.to_string(), *seconds, "HOLDS {name}");
            }
            ["COUNT", key, number] => assert_eq!(self.count(key).to_string(), *number, "COUNT {key}"),
            ["SERVER", server, over @ .., number] => {
                let got = self.script.questions(server.parse().unwrap(), over.first().copied());
                assert_eq!(got.to_string(), *number, "SERVER {server} {over:?}");
            }
            ["SCENARIO" | "CONFIG" | "ENTRY" | "ADJUST" | "REPLY" | "MESSAGE" | "RAW" | "OPT", ..] | [] => (),
            [section, ..] if SECTIONS.contains(section) => (),
            other => panic!("{other:?} is no line of a scenario"),
        }
        0
    }
}

impl Drop for Play {
    /// Ends the servers' threads.
    fn drop(&mut self) {
        self.script.end();
        let Ok(socket) = UdpSocket::bind("127.0.0.1:0") else { return };
        for address in self.addresses.iter().filter(|address| **address != CLOSED) {
            let _ = (socket.send_to(&[], address), TcpStream::connect(address));
        }
    }
}

/// The names of a word: `n{1..3}.example` is three, `""` is the empty one.
fn names(word: &str) -> Vec<String> {
    if word == "\"\"" {
        return vec![String::new()];
    }
    let Some((start, rest)) = word.split_once('{') else { return vec![word.to_owned()] };
    let (range, end) = rest.split_once('}').unwrap();
    let (first, last) = range.split_once("..").unwrap();
    let numbers = first.parse::<usize>().unwrap()..=last.parse().unwrap();
    numbers.map(|number| format!("{start}{number}{end}")).collect()
}
