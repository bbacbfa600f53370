//! The real client with foreign scenarios: those of CZ.NIC's Deckard, many of them Unbound's, from
//! `LYCOSA_CORPORA` or `../shared/corpora` beside the checkout.
//!
//! They are made for resolvers that iterate from the root, which this client does not; it is a client of these.
//! So two parts of them apply, and one server plays each part:
//! - the resolver's answers to its clients, for each question about addresses: 269 answers in 140 of 191
//!   scenarios; the others have questions of other types. Two answers are excluded, see [`unsuited`].
//! - whole scenarios in which one server gives all answers, as a forwarder does: [`FORWARDED`], five of
//!   fifteen. Of the others four are about signatures or other types, four about a resolver's own policy, two
//!   about its cache over days.

#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lycosa_names::cache::compact::{CompactCache, CompactSettings};
use lycosa_names::{Client, Families, Settings};

use support::bind_both;

/// Scenarios that are played completely.
const FORWARDED: [&str; 5] = [
    "fwd_val_cname_sibling.rpl",
    "iter_lame_root.rpl",
    "iter_unexpectedrrtype.rpl",
    "module_policy_forward.rpl",
    "module_workarounds_disable_0x20.rpl",
];

/// The largest datagram that the client accepts.
const DATAGRAM: usize = 1_232;

/// The folder of the scenarios, if corpora are installed; they must include these.
fn folder() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora");
    let corpora = std::env::var_os("LYCOSA_CORPORA").map_or(beside, PathBuf::from);
    if !corpora.is_dir() {
        println!("not judged by foreign scenarios: no corpora at {} (set LYCOSA_CORPORA)", corpora.display());
        return None;
    }
    Some(corpora.join("dns-deckard/sets/resolver"))
}

/// A record as text: owner, TTL, type, data.
#[derive(Clone, Debug)]
struct Record {
    owner: String,
    ttl: u32,
    kind: String,
    data: Vec<String>,
}

/// A message as text, with the other lines of its entry.
#[derive(Clone, Debug, Default)]
struct Entry {
    matches: Vec<String>,
    adjust: Vec<String>,
    flags: Vec<String>,
    /// Name and type.
    question: Option<(String, String)>,
    /// Answer, authority, additional.
    sections: [Vec<Record>; 3],
}

/// A server's entries from one step to another.
#[derive(Default)]
struct Range {
    steps: (u32, u32),
    addresses: Vec<String>,
    entries: Vec<Entry>,
}

/// A scenario.
#[derive(Default)]
struct Scenario {
    file: String,
    ranges: Vec<Range>,
    /// Number, kind, message.
    steps: Vec<(u32, String, Entry)>,
}

impl Scenario {
    fn read(path: &Path) -> Scenario {
        let bytes = std::fs::read(path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let mut scenario = Scenario { file, ..Scenario::default() };
        let (mut entry, mut section, mut is_range) = (Entry::default(), None, false);
        for words in lines(&text) {
            let number = |place: usize| words.get(place).map_or(0, |word: &String| word.parse().unwrap());
            let rest = || words[1..].to_vec();
            match &*words[0] {
                "RANGE_BEGIN" => {
                    let steps = (number(1), number(2));
                    scenario.ranges.push(Range { steps, ..Range::default() });
                    is_range = true;
                }
                "RANGE_END" => is_range = false,
                "ADDRESS" => scenario.ranges.last_mut().unwrap().addresses.extend(rest()),
                "STEP" => scenario.steps.push((number(1), words[2].clone(), Entry::default())),
                "ENTRY_BEGIN" => (entry, section) = (Entry::default(), None),
                "MATCH" => entry.matches.extend(rest()),
                "ADJUST" => entry.adjust.extend(rest()),
                "REPLY" => entry.flags = rest(),
                "SECTION" => section = Some(words[1].clone()),
                "ENTRY_END" => {
                    let (entry, _) = (std::mem::take(&mut entry), section.take());
                    match is_range {
                        true => scenario.ranges.last_mut().unwrap().entries.push(entry),
                        false => scenario.steps.last_mut().unwrap().2 = entry,
                    }
                }
                _ => match section.as_deref() {
                    Some("QUESTION") => {
                        let kind = words.last().unwrap().to_ascii_uppercase();
                        entry.question =
                            (!words.contains(&"CH".to_owned())).then(|| (words[0].clone(), kind));
                    }
                    Some("ANSWER") => entry.sections[0].push(record(&words)),
                    Some("AUTHORITY") => entry.sections[1].push(record(&words)),
                    Some("ADDITIONAL") => entry.sections[2].push(record(&words)),
                    _ => (), // settings of a resolver
                },
            }
        }
        scenario
    }

    /// Questions about addresses, each with its step and the expected answer.
    fn checks(&self) -> impl Iterator<Item = (u32, (&str, &str), &Entry)> {
        let mut asked = None;
        self.steps.iter().filter_map(move |(step, kind, entry)| {
            if kind == "QUERY" {
                let about = entry.question.as_ref().map(|(name, kind)| (&**name, &**kind));
                asked = about.filter(|(_, kind)| matches!(*kind, "A" | "AAAA")).map(|about| (*step, about));
            }
            let (step, about) = asked?;
            (kind == "CHECK_ANSWER").then_some((step, about, entry))
        })
    }
}

/// Lines as words, without comments; a parenthesis is one line.
fn lines(text: &str) -> Vec<Vec<String>> {
    let (mut lines, mut words, mut depth) = (Vec::new(), Vec::new(), 0);
    for line in text.lines() {
        let line = line.split(';').next().unwrap();
        for word in line.split_whitespace() {
            depth += word.matches('(').count();
            depth -= word.matches(')').count().min(depth);
            let word = word.replace(['(', ')'], "");
            if !word.is_empty() {
                words.push(word);
            }
        }
        if depth == 0 && !words.is_empty() {
            lines.push(std::mem::take(&mut words));
        }
    }
    lines
}

/// The record of a line.
fn record(words: &[String]) -> Record {
    let mut rest = words[1..].iter().peekable();
    let ttl = rest.next_if(|word| word.parse::<u32>().is_ok()).map_or(3_600, |word| word.parse().unwrap());
    rest.next_if(|word| matches!(&***word, "IN" | "CH"));
    let kind = rest.next().unwrap().to_ascii_uppercase();
    Record { owner: words[0].clone(), ttl, kind, data: rest.cloned().collect() }
}

/// The number of a type.
fn number(kind: &str) -> u16 {
    const KNOWN: &str = "A 1 NS 2 CNAME 5 SOA 6 NULL 10 PTR 12 MX 15 TXT 16 AAAA 28 SRV 33 DNAME 39 DS 43 RRSIG 46 NSEC 47 \
                         DNSKEY 48 NSEC3 50 NSEC3PARAM 51";
    let mut words = KNOWN.split(' ');
    let known = words.find(|word| *word == kind).and_then(|_| words.next());
    let number = known.or_else(|| kind.strip_prefix("TYPE")).and_then(|number| number.parse().ok());
    number.unwrap_or_else(|| panic!("{kind} is no type that is known here"))
}

/// The wire form of a name.
fn wire(name: &str) -> Vec<u8> {
    let labels = name.split('.').filter(|label| !label.is_empty());
    let mut bytes: Vec<u8> =
        labels.flat_map(|label| [&[label.len() as u8], label.as_bytes()].concat()).collect();
    bytes.push(0);
    bytes
}

impl Record {
    /// Its wire form. Data that the client never parses is replaced by its text: about as long.
    fn wire(&self) -> Vec<u8> {
        let data = match &*self.kind {
            "A" | "AAAA" => match self.address() {
                IpAddr::V4(v4) => v4.octets().to_vec(),
                IpAddr::V6(v6) => v6.octets().to_vec(),
            },
            "NS" | "CNAME" | "DNAME" | "PTR" => wire(&self.data[0]),
            "SOA" => {
                let numbers =
                    self.data[2..].iter().flat_map(|word| word.parse::<u32>().unwrap().to_be_bytes());
                [wire(&self.data[0]), wire(&self.data[1]), numbers.collect()].concat()
            }
            _ => self.data.concat().into_bytes(),
        };
        let head = [number(&self.kind).to_be_bytes(), [0, 1]].concat();
        let length = (data.len() as u16).to_be_bytes();
        [wire(&self.owner), head, self.ttl.to_be_bytes().to_vec(), length.to_vec(), data].concat()
    }

    fn address(&self) -> IpAddr {
        self.data[0].parse().unwrap()
    }
}

impl Entry {
    fn says(&self, flag: &str) -> bool {
        self.flags.iter().any(|given| given == flag)
    }

    /// The code of the reply.
    fn code(&self) -> u8 {
        let codes = ["NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED", "YXDOMAIN"];
        codes.iter().position(|code| self.says(code)).unwrap_or(0) as u8
    }

    /// Whether it is the server's reply to a question.
    fn fits(&self, name: &str, kind: &str) -> bool {
        let Some((own, own_kind)) = &self.question else { return false };
        let bare = |name: &str| name.trim_end_matches('.').to_ascii_lowercase();
        let (own, name) = (bare(own), bare(name));
        let says = |word: &str| self.matches.iter().any(|given| given == word);
        let is_below = || own.is_empty() || name == own || name.ends_with(&format!(".{own}"));
        (!says("question") || own == name && own_kind == kind)
            && (!says("qname") || own == name)
            && (!says("qtype") || own_kind == kind)
            && (!says("subdomain") || is_below())
    }

    /// The reply to a question.
    fn reply(&self, question: &[u8], is_udp: bool) -> Vec<u8> {
        let end = 12 + question[12..].iter().position(|byte| *byte == 0).unwrap() + 5;
        let mut reply = question[..end].to_vec();
        let bit = |flag: &str, bit: u8| if self.says(flag) { bit } else { 0 };
        reply[2] = 0x80 | bit("AA", 4) | bit("TC", 2) | bit("RD", 1);
        reply[3] = bit("RA", 0x80) | bit("AD", 0x20) | bit("CD", 0x10) | self.code();
        for (place, section) in self.sections.iter().enumerate() {
            reply[6 + 2 * place..8 + 2 * place].copy_from_slice(&(section.len() as u16).to_be_bytes());
            section.iter().for_each(|record| reply.extend(record.wire()));
        }
        if is_udp && reply.len() > DATAGRAM {
            reply.truncate(end);
            reply[2] |= 2;
            reply[6..12].fill(0);
        }
        reply
    }

    /// The client's expected result, for a question of this type.
    fn outcome(&self, kind: &str) -> String {
        let addresses = self.sections[0].iter().filter(|record| record.kind == kind).map(Record::address);
        let mut addresses: Vec<IpAddr> = addresses.collect();
        addresses.sort_unstable();
        match self.code() {
            0 if addresses.is_empty() => "name-no-data".to_owned(),
            0 => addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
            3 => "name-not-found".to_owned(),
            _ => "name-server-failure".to_owned(),
        }
    }
}

/// Entries, of which the first that matches a query is sent.
type Entries = Arc<Mutex<Vec<Entry>>>;

/// A server that plays the scenarios' part, over UDP and TCP.
fn serve() -> (SocketAddr, Entries) {
    let (tcp, udp) = bind_both();
    let address = tcp.local_addr().unwrap();
    let entries = Entries::default();
    let find = |entries: &Entries, message: &[u8], is_udp: bool| {
        let mut at = 12;
        let mut name = String::new();
        while message[at] > 0 {
            let next = at + 1 + usize::from(message[at]);
            name += &String::from_utf8_lossy(&message[at + 1..next]);
            name.push('.');
            at = next;
        }
        let kind = if message[at + 2] == 28 { "AAAA" } else { "A" };
        let entries = entries.lock().unwrap();
        let entry = entries.iter().find(|entry| entry.fits(&name, kind));
        entry
            .filter(|entry| !entry.adjust.contains(&"do_not_answer".to_owned()))
            .map(|entry| entry.reply(message, is_udp))
    };
    let told = entries.clone();
    std::thread::spawn(move || {
        let mut buffer = [0; 2_000];
        while let Ok((count, client)) = udp.recv_from(&mut buffer) {
            if let Some(reply) = find(&told, &buffer[..count], true) {
                udp.send_to(&reply, client).unwrap();
            }
        }
    });
    let told = entries.clone();
    std::thread::spawn(move || {
        for stream in tcp.incoming() {
            let mut stream = stream.unwrap();
            let mut length = [0; 2];
            let mut message = vec![0; 0];
            while stream.read_exact(&mut length).is_ok() {
                message.resize(u16::from_be_bytes(length).into(), 0);
                stream.read_exact(&mut message).unwrap();
                let reply = find(&told, &message, false).unwrap();
                stream.write_all(&[&(reply.len() as u16).to_be_bytes(), &reply[..]].concat()).unwrap();
            }
        }
    });
    (address, entries)
}

/// The result of a name with a new client.
fn resolve(server: SocketAddr, name: &str, kind: &str) -> String {
    let settings = Settings {
        servers: vec![server.into()],
        families: if kind == "A" { Families::V4 } else { Families::V6 },
        timeout: Duration::from_millis(500),
        ..Settings::default()
    };
    let cache =
        CompactCache::in_memory(CompactSettings { capacity: 1_000, ..CompactSettings::default() }, 0, None)
            .unwrap();
    let client = Client::start(settings, Box::new(cache)).unwrap();
    client.submit(vec![name.into()]);
    let (mut answers, began) = (Vec::new(), Instant::now());
    while answers.is_empty() {
        client.wait(Duration::from_millis(100));
        client.drain(&mut answers);
        assert!(began.elapsed() < Duration::from_secs(10), "no answer about {name}");
    }
    match answers.remove(0).result {
        Ok(mut addresses) => {
            addresses.sort_unstable();
            addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        }
        Err(failure) => failure.kind.as_str().to_owned(),
    }
}

/// Why an answer is not played; `None` if it is.
fn unsuited(name: &str, entry: &Entry) -> Option<&'static str> {
    let has = |word: &str| entry.matches.iter().any(|given| given == word);
    if entry.says("TC") {
        Some("what is said over TCP is not in the scenario")
    } else if entry.code() == 0 && !has("answer") && !has("all") {
        Some("the answer itself is not said")
    } else if !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')) || name == "."
    {
        Some("no name of a host")
    } else {
        None
    }
}

#[test]
fn what_a_resolver_says_to_its_clients_is_understood() {
    let Some(folder) = folder() else { return };
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "rpl"));
    files.sort();
    let (server, entries) = serve();
    let (mut scenarios, mut played, mut left_out, mut wrong) = (0, 0, Vec::new(), Vec::new());
    for scenario in files.iter().map(|path| Scenario::read(path)) {
        let before = played;
        for (step, (name, kind), entry) in scenario.checks() {
            let place = format!("{} step {step}: {name} {kind}", scenario.file);
            if let Some(why) = unsuited(name, entry) {
                left_out.push(format!("{place}: {why}"));
                continue;
            }
            // Whatever the entry matches, it is the reply to this question.
            let question = Some((name.to_owned(), kind.to_owned()));
            *entries.lock().unwrap() =
                vec![Entry { matches: vec!["question".into()], question, ..entry.clone() }];
            let (expected, got) = (entry.outcome(kind), resolve(server, name, kind));
            played += 1;
            if got != expected {
                wrong.push(format!("{place}: {got}, not {expected}"));
            }
        }
        scenarios += usize::from(played > before);
    }
    println!("{} files, {scenarios} scenarios, {played} answers; left out: {left_out:#?}", files.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(scenarios >= 130 && played >= 250, "{scenarios} scenarios, {played} answers");
}

#[test]
fn scenarios_of_one_server_end_as_they_say() {
    let Some(folder) = folder() else { return };
    for file in FORWARDED {
        let scenario = Scenario::read(&folder.join(file));
        let (server, entries) = serve();
        let mut played = 0;
        for (step, (name, kind), entry) in scenario.checks() {
            let now = scenario.ranges.iter().filter(|range| (range.steps.0..=range.steps.1).contains(&step));
            *entries.lock().unwrap() = now.flat_map(|range| range.entries.clone()).collect();
            assert_eq!(resolve(server, name, kind), entry.outcome(kind), "{file}, step {step}");
            played += 1;
        }
        assert!(played > 0, "{file}");
    }
}
