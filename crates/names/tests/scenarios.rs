//! The real client against servers that follow a script, in the style of Unbound's `.rpl` files; every file of
//! `tests/scenarios` is played.
//!
//! A line is a keyword and words; `;` begins a comment. What a file consists of:
//! - `SCENARIO text` – what it shows.
//! - `CONFIG key=value …` – `servers` (1), `timeout` in ms (600), `attempts` (4), `families` (`v4`, `v6`, `both`, `prefer-v4`).
//! - `ENTRY key=value …` – what a server sends when a question comes; every entry that matches sends its message, in the
//!   order of the file. Matches by `server`, `over` (`udp`, `tcp`), `qname`, `qtype`, `edns` (`yes`, `no`), and `nth`: the
//!   first and the last number (`3`, `1..9`) of the questions that match all else.
//! - `ADJUST key=value …` – of the entry above: `delay` in ms, `copies`, `id=wrong`, `case=swapped`, `port=wrong`,
//!   `question=other`, `opcode=N`, `qr=no`, `ra=no`, `close=yes` (the connection, behind it), `pad=N` bytes.
//! - `REPLY code [TC]`, then its records, `ANSWER owner ttl type data` and `AUTHORITY owner ttl type data`, or `RAW hex`, which
//!   stands for one answer record. An entry without `REPLY` is silent.
//! - `QUERY name …` – asks for these names at once, and waits for the answers.
//! - `CHECK name address …` or `CHECK name failure` – what the answer was.
//! - `COUNT key number` – what the client has counted; `SERVER n number` – questions that a server has got.

#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lycosa_names::cache::compact::{CompactCache, CompactSettings};
use lycosa_names::{Client, Families, Settings};

use support::bind_both;

/// Words of the form `key=value`.
type Words = HashMap<String, String>;

/// What a server does.
#[derive(Clone, Default)]
struct Entry {
    matches: Words,
    adjust: Words,
    code: Option<u8>,
    truncated: bool,
    answers: Vec<Vec<u8>>,
    authority: Vec<Vec<u8>>,
    /// Questions that have matched all but `nth`.
    seen: usize,
}

/// The part of a question that scripts speak of.
struct Question<'a> {
    message: &'a [u8],
    end: usize,
    name: String,
    kind: &'static str,
}

impl<'a> Question<'a> {
    fn read(message: &'a [u8]) -> Question<'a> {
        let (mut at, mut labels) = (12, Vec::new());
        while message[at] > 0 {
            let next = at + 1 + usize::from(message[at]);
            labels.push(String::from_utf8_lossy(&message[at + 1..next]).to_ascii_lowercase());
            at = next;
        }
        let kind = if message[at + 2] == 28 { "AAAA" } else { "A" };
        Question { message, end: at + 5, name: labels.join("."), kind }
    }
}

impl Entry {
    /// Whether it has something to send for a question.
    fn fits(&mut self, server: usize, over: &str, question: &Question<'_>) -> bool {
        let edns = if question.message[11] > 0 { "yes" } else { "no" };
        let facts = [("over", over), ("qname", &question.name), ("qtype", question.kind), ("edns", edns)];
        let is = |key: &str, fact: &str| self.matches.get(key).is_none_or(|wanted| wanted == fact);
        if !is("server", &server.to_string()) || !facts.iter().all(|(key, fact)| is(key, fact)) {
            return false;
        }
        self.seen += 1;
        self.matches.get("nth").is_none_or(|nth| range(nth).contains(&self.seen))
    }

    /// Its message.
    fn message(&self, question: &Question<'_>) -> Option<Vec<u8>> {
        let mut message = question.message[..question.end].to_vec();
        let says = |key: &str, value: &str| self.adjust.get(key).is_some_and(|given| given == value);
        message[2] |= 0x80 | if self.truncated { 2 } else { 0 };
        message[3] = 0x80 | self.code?;
        let counts = [1, self.answers.len() as u8, self.authority.len() as u8, 0];
        (0..4).for_each(|n| message[4 + 2 * n..6 + 2 * n].copy_from_slice(&[0, counts[n]]));
        match () {
            () if says("id", "wrong") => message[1] ^= 0x55,
            () if says("qr", "no") => message[2] &= 0x7f,
            () if says("ra", "no") => message[3] &= 0x7f,
            () if says("question", "other") => message[13] ^= 1,
            () if says("case", "swapped") => {
                let end = question.end - 5;
                message[12..end]
                    .iter_mut()
                    .filter(|byte| byte.is_ascii_alphabetic())
                    .for_each(|byte| *byte ^= 32);
            }
            () => (),
        }
        if let Some(opcode) = self.adjust.get("opcode") {
            message[2] |= opcode.parse::<u8>().unwrap() << 3;
        }
        message.extend(self.answers.concat());
        message.extend(self.authority.concat());
        message.resize(message.len() + self.number("pad", 0), 0);
        Some(message)
    }

    fn number(&self, key: &str, default: usize) -> usize {
        self.adjust.get(key).map_or(default, |value| value.parse().unwrap())
    }
}

/// `3` or `1..9`.
fn range(text: &str) -> RangeInclusive<usize> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    first.parse().unwrap()..=last.parse().unwrap()
}

/// The wire form of a name.
fn wire(name: &str) -> Vec<u8> {
    let labels = name.split('.').filter(|label| !label.is_empty());
    let mut bytes: Vec<u8> =
        labels.flat_map(|label| [&[label.len() as u8], label.as_bytes()].concat()).collect();
    bytes.push(0);
    bytes
}

/// A record: owner, TTL, type, data.
fn record(words: &[&str]) -> Vec<u8> {
    let [owner, ttl, kind, data] = words else { panic!("{words:?} is no record") };
    let (number, data) = match *kind {
        "A" | "AAAA" => match data.parse().unwrap() {
            IpAddr::V4(address) => (1_u8, address.octets().to_vec()),
            IpAddr::V6(address) => (28, address.octets().to_vec()),
        },
        "NS" => (2, wire(data)),
        "CNAME" => (5, wire(data)),
        "SOA" => (6, [wire(data), wire(data), vec![0; 20]].concat()),
        other => panic!("{other} is no type that scripts know"),
    };
    let ttl = ttl.parse::<u32>().unwrap().to_be_bytes();
    [&wire(owner)[..], &[0, number, 0, 1], &ttl, &[0, data.len() as u8], &data].concat()
}

/// What all servers share.
struct Script {
    entries: Mutex<Vec<Entry>>,
    questions: Mutex<HashMap<usize, usize>>,
}

impl Script {
    /// The entries that fit a question.
    fn entries(&self, server: usize, over: &str, question: &Question<'_>) -> Vec<Entry> {
        *self.questions.lock().unwrap().entry(server).or_default() += 1;
        let mut entries = self.entries.lock().unwrap();
        entries
            .iter_mut()
            .filter_map(|entry| entry.fits(server, over, question).then(|| entry.clone()))
            .collect()
    }

    /// Starts a server on UDP and TCP.
    fn serve(self: &Arc<Self>, server: usize) -> SocketAddr {
        let (tcp, udp) = bind_both();
        let address = tcp.local_addr().unwrap();
        let udp = Arc::new(udp);
        let (script, stranger) = (self.clone(), Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap()));
        std::thread::spawn(move || {
            let mut buffer = [0; 2_000];
            while let Ok((count, client)) = udp.recv_from(&mut buffer) {
                let question = Question::read(&buffer[..count]);
                for entry in script.entries(server, "udp", &question) {
                    let Some(message) = entry.message(&question) else { continue };
                    let is_wrong = entry.adjust.contains_key("port");
                    let socket = if is_wrong { stranger.clone() } else { udp.clone() };
                    let (copies, delay) = (entry.number("copies", 1), entry.number("delay", 0));
                    let send = move || {
                        (0..copies).for_each(|_| drop(socket.send_to(&message, client)));
                    };
                    match delay {
                        0 => send(),
                        delay => drop(std::thread::spawn(move || {
                            std::thread::sleep(Duration::from_millis(delay as u64));
                            send();
                        })),
                    }
                }
            }
        });
        let script = self.clone();
        std::thread::spawn(move || {
            for stream in tcp.incoming() {
                let (script, mut stream) = (script.clone(), stream.unwrap());
                std::thread::spawn(move || -> std::io::Result<()> {
                    loop {
                        let mut length = [0; 2];
                        stream.read_exact(&mut length)?;
                        let mut message = vec![0; u16::from_be_bytes(length).into()];
                        stream.read_exact(&mut message)?;
                        let question = Question::read(&message);
                        for entry in script.entries(server, "tcp", &question) {
                            if let Some(reply) = entry.message(&question) {
                                let length = u16::try_from(reply.len()).unwrap().to_be_bytes();
                                stream.write_all(&[&length, &reply[..]].concat())?;
                            }
                            if entry.adjust.contains_key("close") {
                                return Ok(());
                            }
                        }
                    }
                });
            }
        });
        address
    }
}

/// `key=value` words.
fn pairs(words: &[&str]) -> Words {
    words
        .iter()
        .map(|word| word.split_once('=').unwrap())
        .map(|(key, value)| (key.into(), value.into()))
        .collect()
}

/// A scenario that is being played.
struct Play {
    client: Client,
    script: Arc<Script>,
    answers: HashMap<String, String>,
}

impl Play {
    fn start(config: &Words, entries: Vec<Entry>) -> Play {
        let number =
            |key: &str, default: u64| config.get(key).map_or(default, |value| value.parse().unwrap());
        let script = Arc::new(Script { entries: Mutex::new(entries), questions: Mutex::default() });
        let families = config.get("families").map_or("v4", String::as_str);
        let settings = Settings {
            servers: (1..=number("servers", 1) as usize).map(|server| script.serve(server).into()).collect(),
            timeout: Duration::from_millis(number("timeout", 600)),
            attempts: number("attempts", 4) as u32,
            families: match families {
                "v4" => Families::V4,
                "v6" => Families::V6,
                _ => Families::Both,
            },
            prefer_v4: families == "prefer-v4",
            ..Settings::default()
        };
        let cache = CompactCache::in_memory(
            CompactSettings { capacity: 1_000, ..CompactSettings::default() },
            0,
            None,
        )
        .unwrap();
        let client = Client::start(settings, Box::new(cache)).unwrap();
        Play { client, script, answers: HashMap::new() }
    }

    fn query(&mut self, names: &[&str]) {
        self.client.submit(names.iter().map(|name| (*name).into()).collect());
        let (mut answers, began) = (Vec::new(), Instant::now());
        while self.client.pending() > 0 {
            self.client.drain(&mut answers);
            assert!(
                began.elapsed() < Duration::from_secs(10),
                "{} names without answer",
                self.client.pending()
            );
            std::thread::sleep(Duration::from_millis(1));
        }
        for answer in answers {
            let text = match answer.result {
                Ok(addresses) => addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
                Err(failure) => failure.kind.as_str().to_owned(),
            };
            assert_eq!(self.answers.insert(answer.name.into(), text), None, "an answer of its own each");
        }
    }

    fn count(&self, key: &str) -> u64 {
        let counts = self.client.statistics();
        match key {
            "questions" => counts.questions,
            "answers" => counts.answers,
            "retries" => counts.retries,
            "timeouts" => counts.timeouts,
            "mismatched" => counts.mismatched,
            "case-mismatched" => counts.case_mismatched,
            "truncated" => counts.truncated,
            other => panic!("{other} is not counted"),
        }
    }
}

/// Plays one file.
fn play(text: &str) {
    let lines =
        || text.lines().map(|line| line.split(';').next().unwrap().split_whitespace().collect::<Vec<_>>());
    let (mut config, mut entries) = (Words::new(), Vec::<Entry>::new());
    for words in lines() {
        match &words[..] {
            ["CONFIG", rest @ ..] => config = pairs(rest),
            ["ENTRY", rest @ ..] => entries.push(Entry { matches: pairs(rest), ..Entry::default() }),
            ["ADJUST", rest @ ..] => entries.last_mut().unwrap().adjust.extend(pairs(rest)),
            ["REPLY", code, rest @ ..] => {
                let codes = ["NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED"];
                let entry = entries.last_mut().unwrap();
                entry.code = Some(codes.iter().position(|known| known == code).unwrap() as u8);
                entry.truncated = rest.contains(&"TC");
            }
            ["ANSWER", rest @ ..] => entries.last_mut().unwrap().answers.push(record(rest)),
            ["AUTHORITY", rest @ ..] => entries.last_mut().unwrap().authority.push(record(rest)),
            ["RAW", rest @ ..] => {
                let bytes = rest.iter().map(|hex| u8::from_str_radix(hex, 16).unwrap()).collect();
                entries.last_mut().unwrap().answers.push(bytes);
            }
            _ => (),
        }
    }
    let mut play = Play::start(&config, entries);
    let mut checks = 0;
    for words in lines() {
        match &words[..] {
            ["QUERY", names @ ..] => play.query(names),
            ["CHECK", name, expected @ ..] => {
                assert_eq!(play.answers.get(*name), Some(&expected.join(" ")), "CHECK {name}");
                checks += 1;
            }
            ["COUNT", key, number] => assert_eq!(play.count(key).to_string(), *number, "COUNT {key}"),
            ["SERVER", server, number] => {
                let got = play.script.questions.lock().unwrap().get(&server.parse().unwrap()).copied();
                assert_eq!(got.unwrap_or(0).to_string(), *number, "SERVER {server}");
            }
            ["SCENARIO" | "CONFIG" | "ENTRY" | "ADJUST" | "REPLY" | "ANSWER" | "AUTHORITY" | "RAW", ..]
            | [] => (),
            other => panic!("{other:?} is no line of a scenario"),
        }
    }
    assert!(checks > 0, "a scenario without CHECK shows nothing");
}

#[test]
fn all_scenarios_end_as_they_say() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scenarios");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "rpl"));
    files.sort();
    assert!(files.len() >= 20, "{} scenarios", files.len());
    let failed = files.iter().filter(|path| {
        let text = std::fs::read_to_string(path).unwrap();
        std::panic::catch_unwind(|| play(&text)).inspect_err(|_| eprintln!("in {}", path.display())).is_err()
    });
    assert_eq!(failed.count(), 0, "scenarios failed; see above");
}
