//! Tests of Extended DNS Errors (RFC 8914) in the server's own answers.

use domain::base::Ttl;
use domain::base::opt::ExtendedError;

use super::*;

/// A question with EDNS.
fn with_edns(name: &str, rtype: Rtype) -> Vec<u8> {
    let mut message = question(name, rtype);
    message[11] = 1;
    message.extend_from_slice(&[0, 0, 41, 4, 0xd0, 0, 0, 0, 0, 0, 0]);
    message
}

/// An answer's response code and the codes of its extended errors.
fn told(message: &Message<Vec<u8>>) -> (Rcode, Vec<u16>) {
    let errors = message.opt().map_or(Vec::new(), |opt| {
        let codes = opt.opt().iter::<ExtendedError<_>>();
        codes.map(|error| error.unwrap().code().to_int()).collect()
    });
    (code(message), errors)
}

fn ask(server: &Server, name: &str, rtype: Rtype) -> (Rcode, Vec<u16>) {
    told(&ask_bytes(server, &with_edns(name, rtype)))
}

#[test]
fn a_failure_says_whether_nobody_answered_or_it_is_remembered() {
    let (upstream, _) = Upstream::start_with_tcp(Says::Nothing);
    let server = server_of(&[upstream.address], |_| ());
    for rtype in [Rtype::A, Rtype::MX] {
        assert_eq!(ask(&server, "silent.example", rtype), (Rcode::SERVFAIL, vec![22]), "{rtype}");
        assert_eq!(ask(&server, "silent.example", rtype), (Rcode::SERVFAIL, vec![13]), "{rtype}");
    }
    upstream.say(Says::Code(Rcode::SERVFAIL));
    for rtype in [Rtype::A, Rtype::MX] {
        assert_eq!(ask(&server, "broken.example", rtype), (Rcode::SERVFAIL, vec![]), "{rtype}: it answered");
        assert_eq!(ask(&server, "broken.example", rtype), (Rcode::SERVFAIL, vec![13]), "{rtype}");
    }
}

#[test]
fn an_old_answer_says_that_it_is_one() {
    let upstream = Upstream::start(Says::Addresses(60));
    let server = server_of(&[upstream.address], |settings| {
        (settings.policy.min_ttl, settings.policy.prefetch) = (0, false);
        settings.upstream.speed = 1_000.0; // the cache counts in minutes
    });
    assert_eq!(ask(&server, "a.example", Rtype::A), (Rcode::NOERROR, vec![]));
    upstream.say(Says::Code(Rcode::SERVFAIL));
    let until = Instant::now() + Duration::from_secs(10);
    let stale = loop {
        let answer = ask_bytes(&server, &with_edns("a.example", Rtype::A));
        if told(&answer).1 == [3] {
            break answer;
        }
        assert_eq!(told(&answer), (Rcode::NOERROR, vec![]));
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_eq!((code(&stale), stale.header_counts().ancount()), (Rcode::NOERROR, 1));
    let first = stale.answer().unwrap().next().unwrap().unwrap();
    assert_eq!(first.ttl(), Ttl::from_secs(30));
}

#[test]
fn who_may_not_ask_is_told_so_and_so_is_who_asks_for_what_the_policy_takes_out() {
    let upstream = Upstream::start(Says::Addresses(600));
    let server = server_of(&[upstream.address], |settings| {
        settings.policy.filter_private = true;
        settings.policy.allow = vec!["127.0.0.1".parse().unwrap()];
    });
    let stranger = client_of(&server, "127.0.0.9");
    stranger.send(&with_edns("a.example", Rtype::A)).unwrap();
    assert_eq!(told(&receive(&stranger).unwrap()), (Rcode::REFUSED, vec![18]));
    for _ in 0..2 {
        assert_eq!(ask(&server, "evil.example", Rtype::AAAA), (Rcode::NOERROR, vec![15]));
    }
    assert_eq!(ask(&server, "evil.example", Rtype::MX), (Rcode::NOERROR, vec![]), "nothing was removed");
    assert_eq!(ask(&server, "a.onion", Rtype::A), (Rcode::NXDOMAIN, vec![]));
    let plain = ask_one(&server, "evil.example", Rtype::AAAA);
    assert_eq!(plain.header_counts().arcount(), 0, "no extended error without EDNS");
}
