//! Regression tests of sizes, flags and timing of answers.

use domain::base::Serial;
use domain::base::Ttl;
use domain::base::iana::Class;
use domain::base::{Record, UnknownRecordData};
use domain::rdata::Soa;
use lycosa_names::{HostName, LocalAddresses, LocalNames, PacketKey, ZoneTable};

use super::*;
use lycosa_url::Micros;

fn with_edns(mut message: Vec<u8>) -> Vec<u8> {
    message[11] = 1;
    message.extend_from_slice(&[0, 0, 41, 2, 0, 0, 0, 0, 0, 0, 0]);
    message
}

fn raw(server: &Server, question: &[u8]) -> Vec<u8> {
    let socket = client_of(server, "127.0.0.1");
    socket.send(question).unwrap();
    let mut buffer = vec![0; 70_000];
    let length = socket.recv(&mut buffer).unwrap();
    buffer.truncate(length);
    buffer
}

#[test]
fn a_failure_is_no_longer_than_the_client_takes() {
    fn wordy(message: &Message<[u8]>) -> Vec<u8> {
        let mut answer = MessageBuilder::new_vec().start_answer(message, Rcode::SERVFAIL).unwrap().finish();
        answer[11] = 1;
        answer.extend_from_slice(&[0, 0, 41, 4, 0xd0, 0, 0, 0, 0, 0, 206, 0, 15, 0, 202, 0, 6]);
        answer.extend_from_slice(&[0xff; 200]);
        answer
    }
    let upstream = Upstream::start(Says::Built(wordy));
    let server = server_of(&[upstream.address], |_| ());
    let asked = with_edns(question("a.example", Rtype::MX));
    let answer = raw(&server, &asked);
    assert!(
        answer.len() <= 512 && answer.len() <= 10 * asked.len(),
        "{} bytes for {} bytes, payload 512",
        answer.len(),
        asked.len()
    );
}

#[derive(Debug)]
struct Many(u16);

impl LocalNames for Many {
    fn addresses(&self, name: HostName<'_>, _: Families, _: Micros) -> Option<LocalAddresses> {
        let addresses = (0..self.0).map(|n| IpAddr::from([192, 0, (n >> 8) as u8, n as u8])).collect();
        (name.as_str() == "many.lan").then_some(LocalAddresses { addresses, ttl: 60 })
    }

    fn records(&self, _: &PacketKey, _: Micros) -> Option<Vec<u8>> {
        None
    }
}

#[test]
fn local_addresses_that_do_not_fit_are_cut_off() {
    let upstream = Upstream::start(Says::Nothing);
    let server =
        server_of(&[upstream.address], |settings| settings.policy.local = Some(Arc::new(Many(1_000))));
    let asked = question("many.lan", Rtype::A);
    let answer = raw(&server, &asked);
    let is_cut = answer[2] & 2 != 0;
    assert!(is_cut && answer.len() <= 512, "{} bytes for {}, TC {is_cut}", answer.len(), asked.len());
}

#[test]
fn who_disables_checking_gets_addresses_that_do_not_validate() {
    fn validating(message: &Message<[u8]>) -> Vec<u8> {
        let is_unchecked = message.header().cd();
        let code = if is_unchecked { Rcode::NOERROR } else { Rcode::SERVFAIL };
        let mut answer = MessageBuilder::new_vec().start_answer(message, code).unwrap();
        let question = message.sole_question().unwrap();
        if is_unchecked {
            answer.push((question.qname(), 60, A::from_octets(198, 41, 0, 4))).unwrap();
        }
        answer.finish()
    }
    let upstream = Upstream::start(Says::Built(validating));
    let server = server_of(&[upstream.address], |_| ());
    let mut asked = question("bogus.example", Rtype::A);
    asked[3] |= 0x10;
    let answer = ask_bytes(&server, &asked);
    assert_eq!((code(&answer), answer.header_counts().ancount()), (Rcode::NOERROR, 1), "CD was set");
}

#[test]
fn what_did_not_exist_is_not_told_for_a_day() {
    fn gone(message: &Message<[u8]>) -> Vec<u8> {
        let answer = MessageBuilder::new_vec().start_answer(message, Rcode::NXDOMAIN).unwrap();
        let mut answer = answer.authority();
        let name = |text: &str| text.parse::<Name<Vec<u8>>>().unwrap();
        let times = [3_600, 600, 86_400, 60].map(Ttl::from_secs);
        let soa = Soa::new(
            name("ns.example"),
            name("h.example"),
            Serial(1),
            times[0],
            times[1],
            times[2],
            times[3],
        );
        answer.push((name("example"), 60, soa)).unwrap();
        answer.finish()
    }
    let upstream = Upstream::start(Says::Built(gone));
    let server = server_of(&[upstream.address], |settings| {
        settings.upstream.speed = 600.0;
        settings.policy.min_ttl = 0;
        settings.policy.negative_ttl = 60;
    });
    let codes = || [Rtype::A, Rtype::MX].map(|rtype| code(&ask_one(&server, "new.example", rtype)));
    assert_eq!(codes(), [Rcode::NXDOMAIN; 2]);
    upstream.say(Says::Code(Rcode::SERVFAIL));
    std::thread::sleep(Duration::from_secs(1));
    let [a, mx] = codes();
    assert_eq!(a, mx, "addresses and records alike");
}

#[test]
fn localhost_is_this_host_also_where_private_addresses_are_filtered() {
    let upstream = Upstream::start(Says::Nothing);
    let server = server_of(&[upstream.address], |settings| settings.policy.filter_private = true);
    assert_eq!(ask_one(&server, "localhost", Rtype::A).header_counts().ancount(), 1, "RFC 6761 section 6.3");
}

#[test]
fn a_zone_whose_server_is_silent_delays_nobody_else() {
    let (outside, inside) = (Upstream::start(Says::Addresses(60)), Upstream::start(Says::Nothing));
    let server = server_of(&[outside.address], |settings| {
        settings.upstream.timeout = Duration::from_secs(2);
        settings.upstream.zones = ZoneTable::new([("corp.example", vec![inside.address.into()])]).unwrap();
    });
    assert_eq!(ask_one(&server, "warm.example", Rtype::A).header_counts().ancount(), 1);
    let flood = client_of(&server, "127.0.0.1");
    for n in 0..300 {
        flood.send(&question(&format!("n{n}.corp.example"), Rtype::A)).unwrap();
    }
    std::thread::sleep(Duration::from_millis(200));
    let began = Instant::now();
    let socket = client_of(&server, "127.0.0.1");
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    socket.send(&question("www.public.example", Rtype::A)).unwrap();
    let answer = receive(&socket).unwrap();
    let waited = began.elapsed();
    assert!(
        code(&answer) == Rcode::NOERROR && waited < Duration::from_secs(1),
        "{:?} after {waited:?}",
        code(&answer)
    );
}

#[test]
fn an_upstream_that_is_repaired_by_a_reload_is_asked_at_once() {
    let (_first, server, waiting) = waiting_for_silence("early.example");
    let second = Upstream::start(Says::Addresses(600));
    let settings = lock(&server.settings).clone();
    let upstream = Settings { servers: vec![second.address.into()], ..settings.upstream.clone() };
    server.reload(settings.policy, upstream).unwrap();
    receive(&waiting).unwrap();
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(code(&ask_one(&server, "early.example", Rtype::A)), Rcode::NOERROR);
}

#[test]
fn public_silence_shows_although_a_zone_is_well() {
    let (outside, inside) = (Upstream::start(Says::Nothing), Upstream::start(Says::Addresses(60)));
    let server = server_of(&[outside.address], |settings| {
        settings.upstream.zones = ZoneTable::new([("corp.example", vec![inside.address.into()])]).unwrap();
    });
    for n in 0..4 {
        ask_one(&server, &format!("n{n}.example"), Rtype::A);
        ask_one(&server, &format!("n{n}.corp.example"), Rtype::A);
    }
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(count(&server, "silent"), 1);
}

#[test]
fn large_answers_over_tcp_arrive() {
    fn large(message: &Message<[u8]>) -> Vec<u8> {
        let mut answer = MessageBuilder::new_vec().start_answer(message, Rcode::NOERROR).unwrap();
        let owner = message.sole_question().unwrap();
        for _ in 0..2 {
            let data = UnknownRecordData::from_octets(Rtype::from_int(65_280), vec![7_u8; 30_000]).unwrap();
            answer.push(Record::new(owner.qname(), Class::IN, Ttl::from_secs(60), data)).unwrap();
        }
        answer.finish()
    }
    let (upstream, _) = Upstream::start_with_tcp(Says::Text(3_000));
    let server = server_of(&[upstream.address], |_| ());
    // The UDP answer is truncated, the TCP one is not.
    upstream.say(Says::Built(large));
    let mut client = TcpStream::connect(server.listening()[0]).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(8))).unwrap();
    let mut questions = Vec::new();
    for _ in 0..50 {
        questions.extend(framed(&question("big.example", Rtype::from_int(65_280))));
    }
    client.write_all(&questions).unwrap();
    let mut sizes = Vec::new();
    while sizes.len() < 50 {
        let Some(answer) = unframed(&mut client) else { break };
        sizes.push(answer.len());
    }
    assert!(
        sizes.len() == 50 && sizes.iter().all(|size| *size > 60_000),
        "{} answers: {sizes:?}",
        sizes.len()
    );
}
