use lycosa_names::{Records, Rtype, read_records};

use super::*;

const HOSTS: &str = "192.0.2.7 printer.lan printer\n2001:db8::7 printer.lan\n0.0.0.0 ads.example\n";

fn table(data: &str) -> io::Result<(tempfile::TempDir, LocalTable)> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("hosts"), HOSTS).unwrap();
    let data = LocalData::parse(data).unwrap();
    let table = LocalTable::open(Some(&folder.path().join("hosts")), data, 0)?;
    Ok((folder, table))
}

fn addresses(table: &LocalTable, name: &str, families: Families) -> Option<Vec<String>> {
    let found = table.addresses(HostName::new(name).unwrap(), families, 0)?;
    Some(found.addresses.iter().map(ToString::to_string).collect())
}

fn records(table: &LocalTable, name: &str, rtype: Rtype) -> Option<Records> {
    let key = PacketKey::of_text(name, rtype, false).unwrap();
    table.records(&key, 0).map(|reply| read_records(&reply, rtype).unwrap())
}

#[test]
fn local_data_comes_before_the_hosts_file_and_the_rest_is_unknown() {
    let (_folder, table) = table("printer.lan 300 A 192.0.2.9\nscan.lan CNAME printer.lan").unwrap();
    assert_eq!(addresses(&table, "printer.lan", Families::V4), Some(vec!["192.0.2.9".to_owned()]));
    assert_eq!(addresses(&table, "scan.lan", Families::V4), Some(vec!["192.0.2.9".to_owned()]));
    assert_eq!(addresses(&table, "printer", Families::V4), Some(vec!["192.0.2.7".to_owned()]));
    assert_eq!(addresses(&table, "printer", Families::V6), Some(Vec::new()), "no server is asked for it");
    assert_eq!(addresses(&table, "www.example", Families::Both), None);
}

#[test]
fn records_are_whole_replies() {
    let (_folder, table) =
        table("mail.lan MX 5 printer.lan\nscan.lan CNAME mail.lan\nprinter.lan TXT \"on the second floor\"")
            .unwrap();
    let Some(Records::Found(found)) = records(&table, "scan.lan", Rtype::MX) else { panic!() };
    let lines: Vec<String> =
        found.iter().map(|record| format!("{} {} {}", record.owner, record.rtype, record.data)).collect();
    assert_eq!(lines, ["scan.lan CNAME mail.lan.", "mail.lan MX 5 printer.lan."]);
    assert_eq!(records(&table, "mail.lan", Rtype::TXT), Some(Records::NoData(Vec::new())));
    assert_eq!(records(&table, "printer", Rtype::HTTPS), Some(Records::NoData(Vec::new())));
    assert_eq!(records(&table, "www.example", Rtype::MX), None);
}

#[test]
fn addresses_have_names() {
    let (_folder, table) = table("").unwrap();
    for address in ["192.0.2.7", "2001:db8::7"] {
        let Some(Records::Found(found)) = records(&table, address, Rtype::PTR) else { panic!("{address}") };
        assert_eq!(found[0].data, "printer.lan.");
    }
    assert_eq!(records(&table, "192.0.2.8", Rtype::PTR), None);
    for other in ["1.2.3.in-addr.arpa", "07.2.0.192.in-addr.arpa", "+7.2.0.192.in-addr.arpa"] {
        assert_eq!(records(&table, other, Rtype::PTR), None, "{other} encodes no address");
    }
}

#[test]
fn a_name_in_arpa_may_be_a_host_and_that_of_an_address() {
    let folder = tempfile::tempdir().unwrap();
    let hosts = "192.0.2.1 8.2.0.192.in-addr.arpa 9.2.0.192.in-addr.arpa\n192.0.2.9 nine.lan\n";
    std::fs::write(folder.path().join("hosts"), hosts).unwrap();
    let table = LocalTable::open(Some(&folder.path().join("hosts")), LocalData::default(), 0).unwrap();
    let told = |last, rtype| match records(&table, &format!("{last}.2.0.192.in-addr.arpa"), rtype) {
        Some(Records::Found(found)) => found[0].data.clone(),
        other => format!("{other:?}"),
    };
    assert_eq!(
        [told(8, Rtype::A), told(9, Rtype::A), told(9, Rtype::PTR)],
        ["192.0.2.1", "192.0.2.1", "nine.lan."]
    );
    assert_eq!(told(8, Rtype::PTR), "Some(NoData([]))");
}

#[test]
fn an_answer_with_very_many_records_fits_a_message() {
    // 3,700 addresses are the maximum of local data; the long name is in the message once.
    let name = format!("{}.lan", "n".repeat(60));
    let line = |number: u32| format!("{name} A {}\n", Ipv4Addr::from(0x0a00_0000 + number));
    let (_folder, table) = table(&(0..3_700).map(line).collect::<String>()).unwrap();
    let key = PacketKey::of_text(&name, Rtype::A, false).unwrap();
    let reply = table.records(&key, 0).unwrap();
    assert!(reply.len() <= usize::from(u16::MAX), "{} bytes", reply.len());
    let Some(Records::Found(found)) = read_records(&reply, Rtype::A) else { panic!() };
    assert_eq!((found.len(), found[0].owner.as_str()), (3_700, name.as_str()));
}

#[test]
fn of_a_name_with_very_many_addresses_in_the_hosts_file_the_first_ones_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let lines = (0..70_000_u32).map(|number| format!("{} a.lan\n", Ipv4Addr::from(0x0a00_0000 + number)));
    let more = (0..3_000_u32).map(|number| format!("2001:db8::{number:x} a.lan\n"));
    std::fs::write(folder.path().join("hosts"), lines.chain(more).collect::<String>()).unwrap();
    let table = LocalTable::open(Some(&folder.path().join("hosts")), LocalData::default(), 0).unwrap();
    for (rtype, families) in [(Rtype::A, Families::V4), (Rtype::AAAA, Families::V6)] {
        let key = PacketKey::of_text("a.lan", rtype, false).unwrap();
        let reply = table.records(&key, 0).unwrap();
        assert!(reply.len() <= usize::from(u16::MAX), "{} bytes", reply.len());
        let Some(Records::Found(found)) = read_records(&reply, rtype) else { panic!() };
        assert_eq!(found.len(), MAX_ADDRESSES);
        let told = addresses(&table, "a.lan", families).unwrap();
        assert_eq!(told, found.into_iter().map(|record| record.data).collect::<Vec<_>>());
    }
}

#[test]
fn a_question_for_any_type_gets_whole_sets_of_records_that_fit() {
    let line = |number: u32| format!("a.lan A {}\n", Ipv4Addr::from(0x0a00_0000 + number));
    let texts = (0..200).map(|number| format!("a.lan TXT \"{number:0255}\"\n"));
    let lines = (0..3_000).map(line).chain(texts).chain(["a.lan MX 5 mail.lan\n".to_owned()]);
    let (_folder, table) = table(&lines.collect::<String>()).unwrap();
    let reply = table.records(&PacketKey::of_text("a.lan", Rtype::ANY, false).unwrap(), 0).unwrap();
    assert!(reply.len() <= usize::from(u16::MAX), "{} bytes", reply.len());
    let counted = [Rtype::A, Rtype::MX, Rtype::TXT].map(|rtype| match read_records(&reply, rtype) {
        Some(Records::Found(found)) => found.len(),
        _ => 0,
    });
    assert_eq!(counted, [3_000, 1, 0]);
}

#[test]
fn addresses_hold_no_longer_than_the_aliases_to_them() {
    let (_folder, table) = table("a.lan 5 CNAME b.lan\nb.lan 300 A 192.0.2.9").unwrap();
    let ttl = |name| table.addresses(HostName::new(name).unwrap(), Families::V4, 0).unwrap().ttl;
    assert_eq!((ttl("a.lan"), ttl("b.lan")), (5, 300));
}

#[test]
fn an_alias_to_nowhere_is_told() {
    let why = table("a.lan CNAME b.example").unwrap_err().to_string();
    assert!(why.contains("a.lan") && why.contains("allowed"), "{why}");
    assert!(table("a.lan CNAME b.lan\nb.lan CNAME a.lan").is_err(), "a loop");
}

#[test]
fn an_alias_to_a_name_that_left_the_hosts_file_has_no_data_and_no_server_is_asked_for_it() {
    let (folder, table) = table("scan.lan CNAME printer.lan").unwrap();
    assert_eq!(addresses(&table, "scan.lan", Families::V4), Some(vec!["192.0.2.7".to_owned()]));
    std::fs::write(folder.path().join("hosts"), "192.0.2.1 other.lan").unwrap();
    let (name, later) = (HostName::new("scan.lan").unwrap(), 2_000_000);
    let found = table.addresses(name, Families::Both, later);
    assert_eq!(found, Some(LocalAddresses { addresses: Vec::new(), ttl: HOSTS_TTL }));
    let key = PacketKey::of_text("scan.lan", Rtype::A, false).unwrap();
    let reply = table.records(&key, later).unwrap();
    assert!(matches!(read_records(&reply, Rtype::A), Some(Records::NoData(_))));
    assert_eq!(table.addresses(HostName::new("printer.lan").unwrap(), Families::Both, later), None);
}
