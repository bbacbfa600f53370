use super::*;
use crate::lookup::{Lookup, Lookups};

const NAME: &str = "a-name-of-many-letters.example";

/// A table, and a lookup whose queries are sent on socket 1 of the server at index 0.
struct Scene {
    table: Table,
    lookup: LookupId,
}

impl Scene {
    fn new() -> Scene {
        let lookup = Lookups::default().insert(Lookup::new(NAME.into(), None, 0));
        Scene { table: Table::default(), lookup }
    }

    /// Sends a query; returns the message.
    fn ask(&mut self, profile: QueryProfile) -> Vec<u8> {
        let attempt = Try { profile, ..Try::first(self.lookup, Kind::A, 0) };
        let sent = Sent { attempt, place: 0, at: 0, is_overdue: false };
        let place = self.table.insert(sent, &Lookup::new(NAME.into(), None, 0), 1, (10, 20)).unwrap();
        self.table.message(place).unwrap().to_vec()
    }

    /// Sends a query, and answers it with its question as `change` modifies it; returns how well that matches.
    fn answer(&mut self, profile: QueryProfile, change: impl FnOnce(&mut Vec<u8>)) -> Option<Fit> {
        let mut reply = self.ask(profile);
        reply[2] |= 0x80;
        change(&mut reply);
        self.table.take(1, &reply).map(|(_, fit)| fit)
    }
}

fn has_case(message: &[u8]) -> bool {
    message[12..].iter().any(u8::is_ascii_uppercase)
}

#[test]
fn a_plain_try_keeps_its_random_case_where_the_server_is_known_to_repeat_it() {
    let mut scene = Scene::new();
    assert!(!has_case(&scene.ask(QueryProfile::Plain)), "nothing is known of the server");
    assert_eq!(scene.answer(QueryProfile::Full, |_| ()), Some(Fit::Exact));
    let plain = scene.ask(QueryProfile::Plain);
    assert!(has_case(&plain) && plain.len() == 12 + NAME.len() + 2 + 4, "and has no EDNS");
    assert_eq!(
        scene.answer(QueryProfile::Plain, |reply| reply[12..].make_ascii_lowercase()),
        Some(Fit::OtherCase)
    );
    assert!(!has_case(&scene.ask(QueryProfile::Plain)), "it does so no more");
}

#[test]
fn a_header_alone_ends_a_question_only_where_a_plainer_one_follows() {
    let refuse = |reply: &mut Vec<u8>| {
        reply.truncate(12);
        reply[2..].copy_from_slice(&[0x80, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
    };
    let mut scene = Scene::new();
    assert_eq!(scene.answer(QueryProfile::Full, refuse), Some(Fit::NotUnderstood));
    for profile in [QueryProfile::Plain, QueryProfile::Tcp, QueryProfile::Tls] {
        assert_eq!(scene.answer(profile, refuse), None, "{profile:?}");
    }
    assert!(!has_case(&scene.ask(QueryProfile::Plain)), "it tells nothing of the case of letters");
    let other_number = |reply: &mut Vec<u8>| {
        refuse(reply);
        reply[1] ^= 1;
    };
    assert_eq!(scene.answer(QueryProfile::Full, other_number), None);
}
