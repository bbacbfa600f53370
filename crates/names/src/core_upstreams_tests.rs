//! Upstreams that fail, are silent, late or full, and each in its own manner.

use super::*;

#[test]
fn an_error_is_tried_on_each_server_once() {
    let mut scene = Scene::new(|_| ());
    scene.submit(&["a.example", "b.example"]);
    for (socket, server, _, message) in scene.sent() {
        assert_eq!(server, "192.0.2.1");
        scene.core.receive(socket, &reply(&message, Rcode::SERVFAIL, 0), scene.now);
    }
    let second = scene.sent();
    assert_eq!((second[0].1.as_str(), second[1].1.as_str()), ("192.0.2.2", "192.0.2.2"));
    scene.core.receive(2, &reply(&second[0].3, Rcode::NOERROR, 1), scene.now);
    scene.core.receive(2, &reply(&second[1].3, Rcode::REFUSED, 0), scene.now);
    let failed = Err(FailureKind::NameServerFailure);
    assert_eq!(scene.answers(), [("a.example".to_owned(), Ok(1)), ("b.example".to_owned(), failed)]);
}

#[test]
fn an_error_is_told_at_once_where_the_other_server_rests_since_it_is_silent() {
    let mut scene = Scene::new(|_| ());
    for name in ["a.example", "b.example", "c.example"] {
        // The second server is asked after the first one's error, and is silent until the name is given up.
        scene.submit(&[name]);
        while scene.core.answers.is_empty() {
            for (socket, server, _, message) in scene.sent() {
                if server == "192.0.2.1" {
                    scene.core.receive(socket, &reply(&message, Rcode::SERVFAIL, 0), scene.now);
                }
            }
            scene.wait(1);
        }
        let failure = scene.core.answers.pop().unwrap().result.unwrap_err();
        assert_eq!(failure.kind, FailureKind::NameServerFailure, "silence hides no error");
        assert!(failure.detail.starts_with("192.0.2.1"), "{}", failure.detail);
    }
    assert!(scene.core.upstreams()[1].is_resting);
    let began = scene.now;
    scene.submit(&["d.example"]);
    for (socket, server, _, message) in scene.sent() {
        assert_eq!(server, "192.0.2.1");
        scene.core.receive(socket, &reply(&message, Rcode::SERVFAIL, 0), scene.now);
    }
    assert_eq!(scene.answers(), [("d.example".to_owned(), Err(FailureKind::NameServerFailure))]);
    assert_eq!(scene.now, began);
}

#[test]
fn a_server_that_understands_nothing_rests() {
    let mut scene = Scene::new(|_| ());
    for n in 0..40 {
        scene.submit(&[&format!("n{n}.example")]);
        while scene.core.answers.is_empty() {
            for (socket, server, _, message) in scene.sent() {
                let code = if server == "192.0.2.1" { Rcode::FORMERR } else { Rcode::NOERROR };
                let count = u8::from(code == Rcode::NOERROR);
                scene.core.receive(socket, &reply(&message, code, count), scene.now);
            }
        }
        assert_eq!(scene.answers()[0].1, Ok(1));
    }
    assert!(scene.core.upstreams()[0].is_resting);
}

#[test]
fn silence_ends_within_the_bound() {
    let mut scene = Scene::new(|_| ());
    scene.submit(&["a.example"]);
    let (mut servers, began) = (Vec::new(), scene.now);
    while scene.core.answers.is_empty() {
        servers.extend(scene.sent().into_iter().map(|(_, server, profile, _)| (server, profile)));
        scene.wait(1);
        assert!(scene.now - began <= 16 * SECOND);
    }
    let asked: Vec<&str> = servers.iter().map(|(server, _)| server.as_str()).collect();
    assert_eq!(asked, ["192.0.2.1", "192.0.2.2", "192.0.2.1", "192.0.2.2"]);
    assert_eq!(servers[3].1, QueryProfile::Plain);
    assert_eq!((scene.now - began) / SECOND, 2 + 2 + 4 + 4);
    assert_eq!(scene.answers()[0].1, Err(FailureKind::NameTimeout));
    assert_eq!(scene.core.statistics.timeouts, 4);
    assert!(!scene.core.is_waiting());
}

#[test]
fn a_silent_server_is_no_longer_asked_first() {
    let mut scene = Scene::new(|_| ());
    scene.submit(&["a.example"]);
    scene.sent();
    scene.wait(2);
    scene.submit(&["b.example"]);
    assert!(scene.sent().iter().all(|(_, server, _, _)| server == "192.0.2.2"));
}

#[test]
fn a_late_answer_is_taken_and_the_other_servers_counts_for_nothing() {
    let mut scene = Scene::new(|_| ());
    assert!(scene.learn("warm.example", Rcode::NOERROR, 1).is_some());
    scene.submit(&["a.example"]);
    let first = scene.sent();
    scene.wait(1); // the time-out is at its floor
    let second = scene.sent();
    assert_eq!((first[0].1.as_str(), second[0].1.as_str()), ("192.0.2.1", "192.0.2.2"));
    scene.core.receive(1, &reply(&first[0].3, Rcode::NOERROR, 2), scene.now);
    assert_eq!(scene.answers(), [("a.example".to_owned(), Ok(2))]);
    scene.core.receive(2, &reply(&second[0].3, Rcode::NXDOMAIN, 0), scene.now);
    assert!(scene.answers().is_empty());
    let statistics = scene.core.statistics;
    assert_eq!((statistics.timeouts, statistics.answers, statistics.mismatched), (1, 3, 0));
    let figures: Vec<_> =
        scene.core.upstreams().into_iter().map(|one| (one.questions, one.answers, one.timeouts)).collect();
    assert_eq!(figures, [(2, 2, 1), (1, 1, 0)]);
}

#[test]
fn a_late_refusal_leads_to_no_further_try() {
    let mut scene = Scene::new(|_| ());
    scene.learn("warm.example", Rcode::NOERROR, 1);
    scene.submit(&["a.example"]);
    let first = scene.sent();
    scene.wait(1);
    let second = scene.sent();
    scene.core.receive(1, &reply(&first[0].3, Rcode::SERVFAIL, 0), scene.now);
    assert!(scene.sent().is_empty() && scene.core.answers.is_empty());
    scene.core.receive(2, &reply(&second[0].3, Rcode::NOERROR, 1), scene.now);
    assert_eq!(scene.answers(), [("a.example".to_owned(), Ok(1))]);
}

#[test]
fn names_wait_while_no_server_has_room() {
    let mut scene = Scene::new(|_| ());
    let names: Vec<String> = (0..600).map(|n| format!("n{n}.example")).collect();
    scene.submit(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let sent = scene.sent();
    assert_eq!(sent.len(), 2 * 128, "two windows");
    for (socket, _, _, message) in &sent[..100] {
        scene.core.receive(*socket, &reply(message, Rcode::NOERROR, 1), scene.now);
    }
    assert!(scene.sent().len() >= 100, "space is used again");
}

#[test]
fn a_connection_that_was_closed_costs_no_try() {
    let mut scene = Scene::new(|settings| settings.attempts = 1);
    scene.submit(&["a.example"]);
    let sent = scene.sent();
    let mut truncated = reply(&sent[0].3, Rcode::NOERROR, 0);
    truncated[2] |= 2;
    scene.core.receive(1, &truncated, scene.now);
    for _ in 0..5 {
        let sent = scene.sent();
        assert_eq!((sent.len(), sent[0].2), (1, QueryProfile::Tcp));
        scene.core.reconnect(1);
    }
    let sent = scene.sent();
    scene.core.receive(1, &reply(&sent[0].3, Rcode::NOERROR, 1), scene.now);
    assert_eq!(scene.answers(), [("a.example".to_owned(), Ok(1))]);
}

#[test]
fn each_server_is_asked_in_its_own_manner() {
    let encrypted = "tls://192.0.2.1#dns.example".parse().unwrap();
    let mut scene = Scene::new(|settings| settings.servers[0] = encrypted);
    scene.submit(&["a.example"]);
    let sent = scene.sent();
    assert_eq!((&*sent[0].1, sent[0].2), ("192.0.2.1", QueryProfile::Tls));
    assert_eq!(sent[0].3.len(), 128, "padded (RFC 8467)");
    assert_eq!(name_in(&sent[0].3), b"\x01a\x07example\0", "as nobody can forge a reply, case is left alone");
    // A query that it does not understand is not repeated in a plainer form, which would be unencrypted.
    scene.core.receive(sent[0].0, &reply(&sent[0].3, Rcode::FORMERR, 0), scene.now);
    let again = scene.sent();
    assert_eq!((&*again[0].1, again[0].2), ("192.0.2.2", QueryProfile::Full));
    scene.core.receive(again[0].0, &reply(&again[0].3, Rcode::NOERROR, 1), scene.now);
    scene.answers();
    // The faster one is unreachable, then the other one.
    scene.submit(&["b.example"]);
    let sent = scene.sent();
    scene.core.fail(sent[0].0, "gone", scene.now);
    let again = scene.sent();
    assert_ne!(sent[0].1, again[0].1);
    scene.core.fail(again[0].0, "gone", scene.now);
    let last = scene.sent();
    assert_eq!(last[0].1, sent[0].1, "whoever did not answer is asked again");
    let last = if last[0].2 == QueryProfile::Tls {
        last
    } else {
        scene.core.fail(last[0].0, "gone", scene.now);
        scene.sent()
    };
    assert_eq!((&*last[0].1, last[0].2), ("192.0.2.1", QueryProfile::Tls));
    scene.core.receive(last[0].0, &swap_case(reply(&last[0].3, Rcode::NOERROR, 1)), scene.now);
    assert_eq!(scene.answers(), [("b.example".to_owned(), Ok(1))]);
    let known: Vec<_> = scene.core.upstreams().into_iter().map(|known| known.trouble).collect();
    assert_eq!(known, [None, Some("gone".into())]);
}

fn packet_order(name: &str, dnssec_ok: bool) -> Order {
    Order::Packet(crate::packet_key::PacketKey::of_text(name, Rtype::MX, dnssec_ok).unwrap())
}

#[test]
fn a_zone_whose_server_is_silent_stops_no_other_name() {
    let mut scene = Scene::new(|settings| {
        settings.zones =
            crate::ZoneTable::new([("corp.example", vec!["192.0.2.9:53".parse().unwrap()])]).unwrap();
    });
    let names: Vec<String> = (0..200).map(|n| format!("n{n}.corp.example")).collect();
    scene.submit(&names.iter().map(String::as_str).collect::<Vec<_>>());
    scene.submit(&["www.public.example"]);
    let sent = scene.sent();
    assert!(sent.iter().any(|(_, server, ..)| server == "192.0.2.1"), "the public name is asked at once");
}

#[test]
fn names_that_one_server_refuses_stop_no_other_name_while_the_other_one_is_full() {
    let mut scene = Scene::new(|_| ());
    // Of each two names the first server answers one and refuses one; the second server is silent.
    let mut served = 0;
    for n in 0..400 {
        let (good, bad) = (format!("good{n}.example"), format!("bad{n}.example"));
        scene.submit(&[&good, &bad]);
        for (socket, server, _, message) in scene.sent() {
            if server != "192.0.2.1" {
                continue;
            }
            let is_bad = name_in(&message)[1].eq_ignore_ascii_case(&b'b');
            let code = if is_bad { Rcode::REFUSED } else { Rcode::NOERROR };
            scene.core.receive(socket, &reply(&message, code, u8::from(!is_bad)), scene.now + 1_000);
        }
        served += scene.answers().iter().filter(|(_, result)| result.is_ok()).count();
    }
    assert_eq!(served, 400, "the first server has space all the time");
}

#[test]
fn a_server_that_truncates_and_refuses_edns_over_tcp_is_not_asked_for_ever() {
    let mut scene = Scene::new(|_| ());
    scene.submit(&["a.example"]);
    let mut questions = 0;
    'end: while questions < 1_000 {
        let sent = scene.sent();
        if sent.is_empty() {
            break 'end;
        }
        for (socket, _, profile, message) in sent {
            questions += 1;
            scene.now += 1_000;
            let answer = if profile == QueryProfile::Tcp {
                reply(&message, Rcode::FORMERR, 0)
            } else {
                let mut cut = reply(&message, Rcode::NOERROR, 0);
                cut[2] |= 2;
                cut
            };
            scene.core.receive(socket, &answer, scene.now);
        }
    }
    assert!(questions < 50, "{questions} questions within {} ms", (scene.now - 60 * SECOND) / 1_000);
}

#[test]
fn who_wants_tcp_alone_is_never_asked_over_udp() {
    let mut scene = Scene::new(|settings| settings.tcp_only = true);
    scene.submit(&["a.example"]);
    let sent = scene.sent();
    assert_eq!(sent[0].2, QueryProfile::Tcp);
    scene.core.receive(1, &reply(&sent[0].3, Rcode::FORMERR, 0), scene.now);
    assert!(scene.sent().iter().all(|(_, _, profile, _)| profile.is_stream()));
}

#[test]
fn an_answer_without_edns_is_not_kept_for_who_wants_signatures() {
    let mut scene = Scene::new(|_| ());
    scene.core.submit([packet_order("a.example", true)], scene.now);
    let sent = scene.sent();
    // Only a header, without the question: needs just the id.
    let mut refusal = vec![0; 12];
    refusal[..2].copy_from_slice(&sent[0].3[..2]);
    (refusal[2], refusal[3]) = (0x80, 1);
    scene.core.receive(1, &refusal, scene.now);
    for (socket, _, _, message) in scene.sent() {
        let query = Message::from_slice(&message).unwrap();
        let name: Name<Vec<u8>> = Name::from_octets(name_in(&message)).unwrap();
        let mut answer = MessageBuilder::new_vec().start_answer(query, Rcode::NOERROR).unwrap();
        answer.push((&name, 3_600, domain::rdata::Mx::new(5, name.clone()))).unwrap();
        scene.core.receive(socket, &answer.finish(), scene.now);
    }
    let key = crate::packet_key::PacketKey::of_text("a.example", Rtype::MX, true).unwrap();
    let kept = scene.core.packets.get(&key, scene.now);
    assert!(
        kept.is_none_or(|packet| packet.message().is_err()),
        "an answer to a question without DO stands under the key with DO for an hour"
    );
}

#[test]
fn a_question_that_meets_a_probe_of_the_same_name_is_answered() {
    let mut scene = Scene::new(|_| ());
    let key = crate::packet_key::PacketKey::of_text("a.example", Rtype::MX, false).unwrap();
    scene.core.submit([Order::Probe(key)], scene.now);
    let own = scene.core.submit([packet_order("a.example", false)], scene.now);
    for (socket, _, _, message) in scene.sent() {
        scene.core.receive(socket, &reply(&message, Rcode::NXDOMAIN, 0), scene.now);
    }
    assert_eq!((own, scene.core.packets_answered.len()), (0, 1));
}

#[test]
fn a_server_that_two_groups_have_keeps_to_its_rate() {
    let mut scene = Scene::new(|settings| {
        settings.servers = vec!["192.0.2.1:53".parse().unwrap()];
        settings.rate = Some(1.0);
        settings.zones =
            crate::ZoneTable::new([("corp.example", vec!["192.0.2.1:53".parse().unwrap()])]).unwrap();
    });
    scene.submit(&["a.example", "b.corp.example"]);
    assert_eq!(scene.sent().len(), 1, "questions a second to each server, at most");
}

#[test]
fn of_seventy_servers_each_is_asked_once() {
    let mut scene = Scene::new(|settings| {
        settings.servers = (1..=70).map(|n| format!("192.0.2.{n}:53").parse().unwrap()).collect();
        settings.attempts = 200;
    });
    scene.submit(&["a.example"]);
    let mut asked = Vec::new();
    loop {
        let sent = scene.sent();
        let Some((socket, server, _, message)) = sent.into_iter().next() else { break };
        asked.push(server);
        scene.core.receive(socket, &reply(&message, Rcode::REFUSED, 0), scene.now);
    }
    let different: std::collections::HashSet<_> = asked.iter().collect();
    assert_eq!((asked.len(), different.len()), (70, 70));
}
