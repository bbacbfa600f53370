//! The client under attack and with failing servers: forged answers in bulk, upstreams killed and restarted
//! under load.

#![allow(clippy::unwrap_used)]

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use lycosa_names::cache::compact::{CompactCache, CompactSettings};
use lycosa_names::{Client, Settings};
use lycosa_url::Resolved;

/// The address of true answers.
const TRUE: [u8; 4] = [192, 0, 2, 1];

/// The address of forged ones.
const FORGED: [u8; 4] = [203, 0, 113, 66];

/// The answer to a query: one address.
fn answer(question: &[u8], address: [u8; 4]) -> Vec<u8> {
    let end = 12 + question[12..].iter().position(|byte| *byte == 0).unwrap() + 5;
    let mut answer = question[..end].to_vec();
    answer[2] |= 0x80;
    answer[3] = 0x80;
    answer[4..12].copy_from_slice(&[0, 1, 0, 1, 0, 0, 0, 0]);
    answer.extend_from_slice(&[0xc0, 12, 0, 1, 0, 1, 0, 0, 14, 16, 0, 4]);
    answer.extend_from_slice(&address);
    answer
}

/// A small pseudo-random generator (SplitMix64), for the attacker.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb)
}

fn cache() -> CompactCache {
    let settings = CompactSettings { capacity: 100_000, ..CompactSettings::default() };
    CompactCache::in_memory(settings, 0, None).unwrap()
}

fn start(servers: Vec<SocketAddr>, change: impl FnOnce(&mut Settings)) -> Client {
    let servers = servers.into_iter().map(Into::into).collect();
    let mut settings = Settings { servers, ..Settings::default() };
    change(&mut settings);
    Client::start(settings, Box::new(cache())).unwrap()
}

/// Waits until all names are answered.
fn finish(client: &Client) -> Vec<Resolved> {
    let (mut answers, began) = (Vec::new(), Instant::now());
    while client.pending() > 0 {
        client.drain(&mut answers);
        assert!(began.elapsed() < Duration::from_secs(60), "{} names without answer", client.pending());
        std::thread::sleep(Duration::from_millis(1));
    }
    answers
}

/// 500 forged answers precede each true one, from the server's own address and port, with the name in lower
/// case, in upper case, or in a case guessed letter by letter. None is accepted, and each true one is.
/// `LYCOSA_FORGED` sets the number of forged answers, 200,000 by default; `LYCOSA_FORGED=10000000` is the soak
/// test, which takes some minutes.
#[test]
fn of_forged_answers_none_is_accepted() {
    const EACH: usize = 500;
    let forged: usize = std::env::var("LYCOSA_FORGED").map_or(200_000, |text| text.parse().unwrap());
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let client = start(vec![socket.local_addr().unwrap()], |settings| settings.in_flight = 4);
    let sent = Arc::new(AtomicUsize::new(0));
    let counter = sent.clone();
    std::thread::spawn(move || {
        let (mut buffer, mut state) = ([0; 512], 7);
        while let Ok((count, asker)) = socket.recv_from(&mut buffer) {
            let question = &buffer[..count];
            let mut lie = answer(question, FORGED);
            let end = lie.len() - 20;
            for n in 0..EACH {
                let [high, low, ..] = random(&mut state).to_be_bytes();
                (lie[0], lie[1]) = (high, low);
                match n % 3 {
                    0 => lie[12..end].make_ascii_lowercase(),
                    1 => lie[12..end].make_ascii_uppercase(),
                    _ => lie[12..end].iter_mut().filter(|byte| byte.is_ascii_alphabetic()).for_each(|byte| {
                        *byte ^= u8::from(random(&mut state) & 1 == 1) << 5;
                    }),
                }
                counter.fetch_add(usize::from(socket.send_to(&lie, asker).is_ok()), Ordering::Relaxed);
                if n % 50 == 49 {
                    std::thread::sleep(Duration::from_micros(100)); // so that they arrive
                }
            }
            let _ = socket.send_to(&answer(question, TRUE), asker);
        }
    });
    let names = forged.div_ceil(EACH);
    let mut resolved = 0;
    // 30 letters of random case besides the id: one forgery in 2^46 would match.
    for first in (0..names).step_by(100) {
        let batch =
            (first..names.min(first + 100)).map(|n| format!("bank{n}.long-enough-for-all.example").into());
        client.submit(batch.collect());
        for answer in finish(&client) {
            // A forgery that matched the id, but not the case, makes the client repeat the query over TCP,
            // where no server listens here; the next try then gets the true answer.
            assert_eq!(answer.result, Ok(vec![IpAddr::from(TRUE)]), "{}", answer.name);
            resolved += 1;
        }
    }
    assert_eq!(resolved, names);
    let statistics = client.statistics();
    let (sent, ignored) = (sent.load(Ordering::Relaxed), statistics.mismatched + statistics.case_mismatched);
    assert!(sent >= forged, "{sent} were sent");
    assert!(ignored as usize >= sent / 2, "{ignored} of {sent} arrived; the kernel dropped the others");
}

/// A server that is silent while it is dead.
struct Mortal {
    address: SocketAddr,
    is_dead: Arc<AtomicBool>,
    answered: Arc<AtomicUsize>,
}

impl Mortal {
    fn start() -> Mortal {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let (is_dead, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (dead, counter) = (is_dead.clone(), answered.clone());
        std::thread::spawn(move || {
            let mut buffer = [0; 512];
            while let Ok((count, asker)) = socket.recv_from(&mut buffer) {
                if !dead.load(Ordering::SeqCst) {
                    let _ = socket.send_to(&answer(&buffer[..count], TRUE), asker);
                    counter.fetch_add(1, Ordering::SeqCst);
                }
            }
        });
        Mortal { address, is_dead, answered }
    }
}

#[test]
fn servers_die_and_come_back_under_load_and_no_name_is_lost() {
    const NAMES: usize = 20_000;
    let servers: Vec<Mortal> = (0..3).map(|_| Mortal::start()).collect();
    let client = start(servers.iter().map(|server| server.address).collect(), |settings| {
        settings.timeout = Duration::from_millis(200);
        settings.in_flight = 200;
        settings.rate = Some(6_000.0); // so that it takes a while
    });
    client.submit((0..NAMES).map(|n| format!("n{n}.example").into()).collect());
    let (mut answers, mut deaths, began) = (Vec::new(), 0, Instant::now());
    while client.pending() > 0 {
        // One server dies, or two at once; then all are alive.
        for server in servers.iter().cycle().skip(deaths).take(1 + deaths % 2) {
            server.is_dead.store(true, Ordering::SeqCst);
        }
        std::thread::sleep(Duration::from_millis(250));
        servers.iter().for_each(|server| server.is_dead.store(false, Ordering::SeqCst));
        std::thread::sleep(Duration::from_millis(100));
        client.drain(&mut answers);
        deaths += 1;
        assert!(began.elapsed() < Duration::from_secs(60), "{} names without answer", client.pending());
    }
    client.drain(&mut answers);
    let names: HashSet<&str> = answers.iter().map(|answer| &*answer.name).collect();
    assert_eq!((answers.len(), names.len()), (NAMES, NAMES), "each name once");
    let lost: Vec<&Resolved> = answers.iter().filter(|answer| answer.result.is_err()).collect();
    assert!(lost.is_empty(), "{} names failed, the first: {:?}", lost.len(), lost[0]);
    assert!(deaths >= 3, "{deaths} deaths");
    // Each was used again, and the deaths were noticed.
    assert!(servers.iter().all(|server| server.answered.load(Ordering::SeqCst) > NAMES / 20));
    let upstreams = client.upstreams();
    assert!(upstreams.iter().all(|upstream| upstream.timeouts > 0 && upstream.answers > 0), "{upstreams:?}");
    let asked: u64 = upstreams.iter().map(|upstream| upstream.questions).sum();
    assert_eq!(asked, client.statistics().questions);
}

#[test]
fn servers_whose_port_is_closed_come_back_too() {
    let good = Mortal::start();
    let closed = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let client = start(vec![closed, good.address], |settings| settings.timeout = Duration::from_millis(200));
    client.submit((0..2_000).map(|n| format!("n{n}.example").into()).collect());
    assert!(finish(&client).iter().all(|answer| answer.result.is_ok()));
    assert!(client.upstreams()[0].is_resting);
    // It opens, and a probe discovers that.
    let socket = UdpSocket::bind(closed).unwrap();
    let began = Instant::now();
    std::thread::spawn(move || {
        let mut buffer = [0; 512];
        while let Ok((count, asker)) = socket.recv_from(&mut buffer) {
            let _ = socket.send_to(&answer(&buffer[..count], TRUE), asker);
        }
    });
    let mut number = 0;
    while client.upstreams()[0].is_resting {
        assert!(began.elapsed() < Duration::from_secs(20), "no probe has found it");
        number += 1;
        client.submit(vec![format!("p{number}.example").into()]);
        assert!(finish(&client).iter().all(|answer| answer.result.is_ok()));
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_rate_holds_for_each_server() {
    let servers: Vec<Mortal> = (0..2).map(|_| Mortal::start()).collect();
    let addresses = servers.iter().map(|server| server.address).collect();
    let client = start(addresses, |settings| settings.rate = Some(500.0));
    let began = Instant::now();
    client.submit((0..400).map(|n| format!("n{n}.example").into()).collect());
    assert_eq!(finish(&client).len(), 400);
    let (elapsed, limit) = (began.elapsed(), Duration::from_millis(360));
    assert!(elapsed >= limit, "400 names at 2 × 500 a second took {elapsed:?}");
    assert!(elapsed < 5 * limit, "the rate is made use of: {elapsed:?}");
}

#[test]
fn a_rate_of_nothing_is_refused() {
    for rate in [0.0, -1.0, f64::NAN] {
        let settings = Settings {
            servers: vec!["127.0.0.1:53".parse().unwrap()],
            rate: Some(rate),
            ..Settings::default()
        };
        let refused = Client::start(settings, Box::new(cache())).err().unwrap();
        assert!(refused.to_string().contains("must be positive"), "{refused}");
    }
}
