//! Tests of hosts files.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

/// Parses a text.
fn hosts_of(text: &[u8]) -> Hosts {
    Hosts::parse(text).unwrap()
}

/// The addresses of a name, as text.
fn addresses(hosts: &Hosts, name: &str, families: Families) -> Option<Vec<String>> {
    let mut buffer = String::new();
    let found = hosts.addresses(HostName::normalize(name, &mut buffer).unwrap(), families)?;
    Some(found.iter().map(ToString::to_string).collect())
}

/// The names of an address.
fn names<'h>(hosts: &'h Hosts, address: &str) -> Vec<&'h str> {
    hosts.names_of(address.parse().unwrap()).collect()
}

/// A list as lookups return it.
fn listed(texts: &[&str]) -> Option<Vec<String>> {
    Some(texts.iter().map(|text| (*text).to_owned()).collect())
}

#[test]
fn the_first_line_counts_also_behind_a_byte_order_mark() {
    let hosts = hosts_of("\u{feff}192.0.2.10 foo.example\n".as_bytes());
    assert_eq!(addresses(&hosts, "foo.example", Families::V4), listed(&["192.0.2.10"]));
    assert_eq!(hosts.warnings(), [] as [&str; 0]);
}

#[test]
fn an_ordinary_file_is_read() {
    let hosts = hosts_of(
        b"# static table\n127.0.0.1\tlocalhost\n::1 localhost ip6-localhost ip6-loopback\r\n\n\
          192.0.2.10  Foo.Example.ORG.  foo  # the printer\n192.0.2.11 b\xc3\xbccher.example",
    );
    assert_eq!(hosts.warnings(), [] as [&str; 0]);
    for name in ["foo.example.org", "FOO", "foo.example.org."] {
        assert_eq!(addresses(&hosts, name, Families::V4), listed(&["192.0.2.10"]), "{name}");
    }
    assert_eq!(addresses(&hosts, "xn--bcher-kva.example", Families::V4), listed(&["192.0.2.11"]));
    assert_eq!(addresses(&hosts, "printer", Families::V4), None);
    assert_eq!(addresses(&hosts, "example.org", Families::V4), None);
    assert_eq!(names(&hosts, "192.0.2.10"), ["foo.example.org", "foo"]);
    assert_eq!(names(&hosts, "::1"), ["localhost", "ip6-localhost", "ip6-loopback"]);
    assert_eq!(names(&hosts, "192.0.2.99"), [] as [&str; 0]);
    assert_eq!(hosts.len(), 6);
}

#[test]
fn several_lines_for_one_name_add_up() {
    let hosts = hosts_of(
        b"2001:db8::1 a\n192.0.2.2 a b\n192.0.2.1 A\n192.0.2.2 a\n2001:db8::1 a.\n::ffff:192.0.2.3 a",
    );
    let v4 = ["192.0.2.2", "192.0.2.1", "192.0.2.3"];
    assert_eq!(addresses(&hosts, "a", Families::V4), listed(&v4));
    assert_eq!(addresses(&hosts, "a", Families::V6), listed(&["2001:db8::1"]));
    assert_eq!(addresses(&hosts, "a", Families::Both), listed(&[&v4[..], &["2001:db8::1"]].concat()));
    assert_eq!(names(&hosts, "192.0.2.2"), ["a", "b"]);
    assert_eq!(names(&hosts, "::ffff:192.0.2.2"), ["a", "b"]);
}

#[test]
fn a_name_with_the_other_family_only_has_no_address_but_is_known() {
    let hosts = hosts_of(b"192.0.2.1 four\n2001:db8::1 six");
    assert_eq!(addresses(&hosts, "four", Families::V6), listed(&[]));
    assert_eq!(addresses(&hosts, "six", Families::V4), listed(&[]));
    assert_eq!(addresses(&hosts, "none", Families::V4), None);
}

#[test]
fn bad_lines_are_told_with_their_number_and_the_others_are_read() {
    let hosts = hosts_of(
        b"192.0.2.300 a\n\n192.0.2.1\nfe80::1%lo0 localhost\n192.0.2.2 a..b good 192.0.2.2\n192.0.2.3 \xff\xfe fine\n",
    );
    let told = [
        "hosts line 1: \"192.0.2.300\" is no address, the line is ignored; allowed: 192.0.2.1 or 2001:db8::1, then",
        "hosts line 3: 192.0.2.1 has no name, the line is ignored; allowed: an address, then names",
        "hosts line 4: \"fe80::1%lo0\" is no address",
        "hosts line 5: \"a..b\" is ignored: a label is empty; allowed: host names",
        "hosts line 5: \"192.0.2.2\" is ignored: this is an address, not a name",
        "hosts line 6: ",
    ];
    assert_eq!(hosts.warnings().len(), told.len(), "{:?}", hosts.warnings());
    for (warning, expected) in hosts.warnings().iter().zip(told) {
        assert!(warning.starts_with(expected), "{warning}");
    }
    assert_eq!(addresses(&hosts, "good", Families::V4), listed(&["192.0.2.2"]));
    assert_eq!(addresses(&hosts, "fine", Families::V4), listed(&["192.0.2.3"]));
    assert_eq!(hosts.len(), 2);
}

#[test]
fn a_file_of_bad_lines_only_is_told_in_short() {
    let hosts = hosts_of(&b"x y\n".repeat(100_000));
    assert!(hosts.is_empty() && hosts.warnings().len() < 200);
    assert_eq!(hosts.warnings().last().unwrap(), "99900 further warnings are left out");
}

#[test]
fn a_block_list_takes_little_more_than_its_text() {
    let count = 200_000;
    let text: String = (0..count).map(|n| format!("0.0.0.0 tracker{n}.ads.example\n")).collect();
    let hosts = hosts_of(text.as_bytes());
    assert_eq!(hosts.len(), count);
    for n in [0, 1, count / 2, count - 1] {
        let name = format!("tracker{n}.ads.example");
        assert_eq!(addresses(&hosts, &name, Families::V4), listed(&["0.0.0.0"]));
    }
    assert_eq!(addresses(&hosts, &format!("tracker{count}.ads.example"), Families::V4), None);
    assert_eq!(hosts.names_of("0.0.0.0".parse().unwrap()).count(), count);
    let beyond_text = (hosts.memory() - hosts.text.len()) / count;
    assert!(beyond_text <= 32, "{beyond_text} bytes per name");
}

/// A simple model: pairs in order.
fn model(text: &str) -> Vec<(String, IpAddr)> {
    let (mut pairs, mut seen) = (Vec::new(), HashSet::new());
    for line in text.split('\n') {
        let mut words = line.split('#').next().unwrap().split_ascii_whitespace();
        let Some(Ok(address)) = words.next().map(str::parse::<IpAddr>) else { continue };
        for word in words {
            let mut buffer = String::new();
            let Ok(name) = HostName::normalize(word, &mut buffer) else { continue };
            let pair = (name.as_str().to_owned(), address.to_canonical());
            if seen.insert(pair.clone()) {
                pairs.push(pair);
            }
        }
    }
    pairs
}

/// Texts in which names and addresses often recur.
fn texts() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        4 => prop::sample::select(vec!["a", "b", "A.", "a.b", "ü", "c..d", "x#y"]).prop_map(str::to_owned),
        4 => prop::sample::select(vec!["192.0.2.1", "192.0.2.2", "::1", "::2", "::ffff:192.0.2.1", "1"]).prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    let part = (word, prop::sample::select(vec![" ", " ", "\t", "\n", "\r\n", "#"]));
    prop::collection::vec(part, 0..40)
        .prop_map(|parts| parts.into_iter().map(|(word, space)| word + space).collect())
}

proptest! {
    #[test]
    fn lookups_are_as_in_a_plain_list(text in texts()) {
        let (hosts, pairs) = (hosts_of(text.as_bytes()), model(&text));
        let all: HashSet<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
        prop_assert_eq!(hosts.len(), all.len());
        for name in all.into_iter().chain(["z", "a", "b"]) {
            let own: Vec<IpAddr> = pairs.iter().filter(|(own, _)| own == name).map(|(_, address)| *address).collect();
            let (v4, v6): (Vec<IpAddr>, Vec<IpAddr>) = own.iter().partition(|address| address.is_ipv4());
            for (families, expected) in
                [(Families::V4, v4.clone()), (Families::V6, v6.clone()), (Families::Both, [v4, v6].concat())]
            {
                let found = hosts.addresses(HostName::new(name).unwrap(), families);
                prop_assert_eq!(found, (!own.is_empty()).then_some(expected));
            }
        }
        for (_, address) in &pairs {
            let expected: Vec<&str> =
                pairs.iter().filter(|(_, own)| own == address).map(|(name, _)| name.as_str()).collect();
            let found: Vec<&str> = hosts.names_of(*address).collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let hosts = hosts_of(&bytes);
        prop_assert!(hosts.len() <= bytes.len());
    }
}
