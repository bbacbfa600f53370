//! Tests of local data.

use domain::base::Message;
use domain::base::iana::Rtype;
use domain::base::name::ParsedName;
use domain::rdata::AllRecordData;
use proptest::prelude::*;

use super::*;

/// Parses valid lines.
fn data(text: &str) -> LocalData {
    LocalData::parse(text).unwrap()
}

/// Looks up a name.
fn lookup<'d>(data: &'d LocalData, name: &str, rtype: Rtype) -> Option<LocalAnswer<'d>> {
    data.lookup(HostName::new(name).unwrap(), rtype.to_int())
}

/// The records of a name with their TTLs; the name must have some.
fn records(data: &LocalData, name: &str, rtype: Rtype) -> Vec<(u32, RecordData)> {
    match lookup(data, name, rtype) {
        Some(LocalAnswer::Records(records)) => {
            records.iter().map(|record| (record.ttl, record.data.clone())).collect()
        }
        other => panic!("{name}: {other:?}"),
    }
}

/// The only record of a line.
fn record(line: &str) -> (u32, RecordData) {
    let data = data(line);
    assert_eq!(data.len(), 1, "{line}");
    let LocalRecord { ttl, data } = data.names.into_values().flatten().next().unwrap();
    (ttl, data)
}

/// A record's data as the `domain` crate prints it, parsed from a message with this record as its answer.
fn shown(data: &RecordData) -> String {
    let (mut message, mut bytes) = (vec![0; 12], Vec::new());
    data.write(&mut bytes);
    assert_eq!(bytes.len(), data.size());
    message[7] = 1;
    message.push(0);
    message.extend(data.rtype().to_be_bytes());
    message.extend([0, 1, 0, 0, 0, 60]);
    message.extend((bytes.len() as u16).to_be_bytes());
    message.extend(bytes);
    let message = Message::from_octets(message).unwrap();
    let record = message.answer().unwrap().next().unwrap().unwrap();
    record.into_any_record::<AllRecordData<_, ParsedName<_>>>().unwrap().data().to_string()
}

#[test]
fn the_printer_in_the_house_has_an_address() {
    let data = data(
        "; the house\nprinter.lan 3600 A 192.0.2.7\n\n  Printer.LAN. IN AAAA 2001:db8::7 ; upstairs\r\n",
    );
    assert_eq!(records(&data, "printer.lan", Rtype::A), [(3_600, RecordData::A([192, 0, 2, 7].into()))]);
    let v6 = RecordData::Aaaa("2001:db8::7".parse().unwrap());
    assert_eq!(records(&data, "printer.lan", Rtype::AAAA), [(3_600, v6)]);
    assert_eq!(lookup(&data, "printer.lan", Rtype::TXT), Some(LocalAnswer::NoData));
    for name in ["lan", "www.printer.lan", "other.lan"] {
        assert_eq!(lookup(&data, name, Rtype::A), None, "{name}");
    }
    assert_eq!(records(&data, "printer.lan", Rtype::ANY).len(), 2);
}

#[test]
fn each_type_is_as_others_read_it_on_the_wire() {
    for (line, expected) in [
        ("a.lan A 192.0.2.7", "192.0.2.7"),
        ("a.lan AAAA 2001:db8::7", "2001:db8::7"),
        ("a.lan CNAME B.lan.", "b.lan."),
        ("7.2.0.192.in-addr.arpa PTR printer.lan", "printer.lan."),
        ("lan MX 10 mail.lan", "10 mail.lan."),
        ("lan MX 0 .", "0 ."),
        ("_ipp._tcp.lan SRV 0 5 631 bücher.lan", "0 5 631 xn--bcher-kva.lan."),
        ("a.lan TXT plain \"with blank\" \"\" a\\\"b", "\"plain\" \"with blank\" \"\" \"a\\\"b\""),
    ] {
        let shown = shown(&record(line).1).replace(". ", " ");
        assert_eq!(shown.trim_end_matches('.'), expected.trim_end_matches('.'), "{line}");
    }
}

#[test]
fn texts_may_hold_any_byte() {
    let texts = |line: &str| match record(line).1 {
        RecordData::Txt(texts) => texts.iter().map(|text| text.to_vec()).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(texts(r#"a TXT "v=spf1; -all" ; comment"#), [b"v=spf1; -all"]);
    assert_eq!(texts(r"a TXT \000\255\;\\\032x"), [[0, 255, b';', b'\\', b' ', b'x']]);
    assert_eq!(texts("a TXT ü IN 60"), [&b"\xc3\xbc"[..], b"IN", b"60"]);
    assert_eq!(texts(&format!("a TXT {}", "x".repeat(255)))[0].len(), 255);
}

#[test]
fn a_ttl_may_be_missing_or_have_units_and_stand_on_either_side_of_the_class() {
    for (line, expected) in [
        ("a A 192.0.2.1", 3_600),
        ("a IN A 192.0.2.1", 3_600),
        ("a 0 A 192.0.2.1", 0),
        ("a 60 IN A 192.0.2.1", 60),
        ("a in 60 a 192.0.2.1", 60),
        ("a 1h30m A 192.0.2.1", 5_400),
        ("a 1W2D3S A 192.0.2.1", 777_603),
        ("a 2147483647 A 192.0.2.1", 2_147_483_647),
    ] {
        assert_eq!(record(line).0, expected, "{line}");
    }
}

#[test]
fn records_of_one_name_and_type_keep_their_order_and_have_the_least_ttl() {
    let data = data("a 60 A 192.0.2.2\na 90 AAAA ::1\na 30 A 192.0.2.1\na 40 A 192.0.2.2\n");
    let a = |last: u8| RecordData::A([192, 0, 2, last].into());
    assert_eq!(records(&data, "a", Rtype::A), [(30, a(2)), (30, a(1))]);
    assert_eq!(records(&data, "a", Rtype::AAAA)[0].0, 90);
}

#[test]
fn an_alias_answers_for_all_types() {
    let data = data("www.lan 60 CNAME printer.lan\nprinter.lan A 192.0.2.7\nwww.lan 50 CNAME printer.lan");
    for rtype in [Rtype::A, Rtype::CNAME, Rtype::MX, Rtype::ANY] {
        assert_eq!(records(&data, "www.lan", rtype), [(50, RecordData::Cname("printer.lan".into()))]);
    }
}

#[test]
fn a_bad_line_is_told_with_its_number_and_what_is_allowed() {
    for (text, expected) in [
        ("a.lan A 192.0.2.1\n\na.lan A 192.0.2.300", "line 3: \"192.0.2.300\"; allowed: an IPv4 address"),
        ("a.lan AAAA 192.0.2.1", "line 1: \"192.0.2.1\"; allowed: an IPv6 address"),
        ("a..lan A 192.0.2.1", "line 1: \"a..lan\": a label is empty; allowed: a full host name"),
        ("192.0.2.1 A 192.0.2.1", "\"192.0.2.1\": this is an address, not a name"),
        ("a.lan", "the type is missing; allowed: name [TTL] [IN] type data"),
        ("a.lan 60 IN", "the type is missing"),
        (
            "a.lan HINFO x y",
            "unknown type \"HINFO\"; allowed: name [TTL] [IN] type data, with a type of A, AAAA",
        ),
        ("a.lan CH A 192.0.2.1", "unknown type \"CH\""),
        ("a.lan 60 70 A 192.0.2.1", "unknown type \"70\""),
        ("a.lan A", "0 words after A; allowed: A 192.0.2.7"),
        ("a.lan A 192.0.2.1 192.0.2.2", "2 words after A"),
        ("a.lan MX mail.lan", "1 words after MX; allowed: MX 10 mail.lan"),
        ("a.lan MX 65536 mail.lan", "\"65536\"; allowed: a number from 0 to 65535"),
        ("a.lan MX +1 mail.lan", "\"+1\"; allowed: a number"),
        ("a.lan TXT", "0 words after TXT"),
        ("a.lan CNAME .", "\".\": the name is empty"),
        ("a.lan 2147483648 A 192.0.2.1", "TTL \"2147483648\"; allowed: 0 to 2147483647 seconds"),
        ("a.lan 99999999999999999999999 A 192.0.2.1", "TTL \"99999"),
        ("a.lan 1x A 192.0.2.1", "TTL \"1x\""),
        ("a.lan 1hh A 192.0.2.1", "TTL \"1hh\""),
        ("a.lan 2147483647w A 192.0.2.1", "TTL \"2147483647w\""),
        ("$TTL 60", "\"$TTL\": directives are not allowed"),
        ("@ A 192.0.2.1", "\"@\": relative names are not allowed"),
        ("*.lan A 192.0.2.1", "\"*.lan\": names with * are not allowed"),
        ("a.lan SOA ( x", "'(' is not allowed; write each record on one line"),
        ("\"a.lan\" A 192.0.2.1", "not a name; allowed: a host name without quotes"),
        ("a.lan TXT \"open", "a text has no closing quote"),
        ("a.lan TXT \"a\"b", "text follows a closing quote"),
        ("a.lan TXT a\"b\"", "a quote within a word"),
        ("a.lan TXT a\\", "followed by a character, or by three digits up to 255"),
        ("a.lan TXT a\\25", "three digits"),
        ("a.lan TXT a\\256", "three digits"),
        ("w.lan A 192.0.2.1\nw.lan CNAME a.lan", "line 2: w.lan has a CNAME and other records"),
        ("w.lan CNAME a.lan\nW.lan A 192.0.2.1", "line 2: w.lan has a CNAME and other records"),
        ("w.lan CNAME a.lan\nw.lan CNAME b.lan", "line 2: w.lan has two CNAMEs; one is allowed"),
    ] {
        let told = LocalData::parse(text).unwrap_err().to_string();
        assert!(told.starts_with("local data line ") && told.contains(expected), "{text:?}: {told}");
    }
    let told = LocalData::parse(&format!("a TXT {}", "x".repeat(256))).unwrap_err().to_string();
    assert!(told.contains("a text of 256 bytes; at most 255 are allowed"), "{told}");
}

#[test]
fn more_than_fits_a_message_is_refused() {
    let line = |count: usize| format!("a TXT{}", " x".repeat(count));
    assert!(LocalData::parse(&line(29_994)).is_ok());
    let told = LocalData::parse(&line(29_995)).unwrap_err().to_string();
    assert!(told.contains("texts of 59990 bytes; at most 59988 are allowed in a record"), "{told}");
    let text: String = (0..5_000).map(|n| format!("a A 10.0.{}.{}\n", n / 256, n % 256)).collect();
    let told = LocalData::parse(&text).unwrap_err();
    assert_eq!(told.line, 60_000 / 16 + 1);
    assert!(told.why.contains("60000 bytes are allowed"), "{told}");
}

/// Lines of significant tokens.
fn lines() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "a",
        "B.a.",
        "www.a",
        "60",
        "1h",
        "IN",
        "A",
        "AAAA",
        "CNAME",
        "TXT",
        "MX",
        "SRV",
        "PTR",
        "192.0.2.1",
        "::1",
        ";",
        "\"",
        "\\",
        "\\065",
        "(",
        ".",
        "*",
        "0",
        "@",
    ]);
    let part = prop_oneof![9 => word.prop_map(str::to_owned), 1 => any::<String>()];
    let end = prop::sample::select(vec![" ", " ", " ", "\n", ""]);
    let anything = prop::collection::vec((part, end), 0..20)
        .prop_map(|parts| parts.into_iter().map(|(part, end)| part + end).collect());
    let owner = prop::sample::select(vec!["a", "B.a.", "c"]);
    let good = prop::sample::select(vec![
        "A 192.0.2.1",
        "60 A 192.0.2.2",
        "AAAA ::1",
        "MX 1 a",
        "TXT \"x y\"",
        "1m SRV 1 2 3 .",
    ]);
    let good = prop::collection::vec((owner, good), 0..12)
        .prop_map(|lines| lines.iter().map(|(owner, rest)| format!("{owner} {rest}\n")).collect());
    prop_oneof![1 => anything, 1 => good]
}

proptest! {
    #[test]
    fn any_text_is_read_or_has_a_reason(text in lines()) {
        match LocalData::parse(&text) {
            Err(bad) => prop_assert!((1..=text.lines().count()).contains(&bad.line) && !bad.why.is_empty()),
            Ok(data) => for (name, records) in &data.names {
                prop_assert!(HostName::new(name).is_ok());
                prop_assert!(records.is_sorted_by_key(|record| record.data.rtype()) && !records.is_empty());
                for record in records {
                    shown(&record.data);
                    let name = HostName::new(name).unwrap();
                    let Some(LocalAnswer::Records(found)) = data.lookup(name, record.data.rtype()) else { panic!("{name:?}") };
                    prop_assert!(found.contains(record));
                    prop_assert!(found.iter().all(|other| other.ttl == record.ttl));
                }
            },
        }
    }

    #[test]
    fn a_text_in_escapes_is_the_same_bytes(bytes in prop::collection::vec(any::<u8>(), 1..100)) {
        let escaped: String = bytes.iter().map(|byte| format!("\\{byte:03}")).collect();
        for line in [format!("a TXT {escaped}"), format!("a TXT \"{escaped}\"")] {
            prop_assert_eq!(record(&line).1, RecordData::Txt(vec![bytes.clone().into()]));
        }
    }
}
