//! DNS: host names, messages of resolvers, questions of clients.

use std::net::IpAddr;

use lycosa_names::{BadName, HostName, examine};

use crate::bounds::within;

/// Invariant: any text is a host name, with one normal form that is its own, or has a reason; and it is the host that the
/// URL standard reads in it.
pub fn name(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (mut buffer, mut again) = (String::new(), String::new());
    let library = url::Host::parse(&text);
    match HostName::normalize(&text, &mut buffer) {
        Ok(name) => {
            assert_eq!(HostName::new(name.as_str()), Ok(name));
            assert_eq!(HostName::normalize(name.as_str(), &mut again), Ok(name));
            let Ok(url::Host::Domain(host)) = library else { panic!("{text:?}: a URL has {library:?}") };
            assert_eq!(host.strip_suffix('.').unwrap_or(&host), name.as_str());
        }
        // The URL standard takes escapes out of a host first, and sets no lengths.
        Err(_) if text.contains('%') => {}
        Err(BadName::BadByte | BadName::Idna) => assert!(library.is_err(), "{text:?}: a URL has {library:?}"),
        Err(BadName::Address) => assert!(!matches!(library, Ok(url::Host::Domain(_))), "{text:?}"),
        Err(BadName::Empty | BadName::EmptyLabel | BadName::LongLabel | BadName::TooLong) => {}
        Err(BadName::NotNormal) => panic!("said by HostName::new only"),
    }
}

/// Invariant: any bytes are the reply to a question or none, in bounded time; a reply repeats the whole question, its addresses
/// are of the family that was asked for and stand in it byte by byte, and it is none to any other question. The data are what
/// follows a reply's header and question; the first byte says which flags and counts the header has, and whether the question
/// is damaged.
pub fn message(data: &[u8]) {
    const ID: u16 = 0x1234;
    let (first, rest) = data.split_first().unwrap_or((&0, &[]));
    let name = HostName::new("www.example.com").expect("a name");
    let is_v6 = first & 1 == 1;
    let kind = if is_v6 { 28 } else { 1 };
    let code = [0, 0, 0, 3][usize::from(first >> 1 & 3)];
    let question = [b"\x03www\x07example\x03com\0".as_slice(), &[0, kind, 0, 1]].concat();
    let answers = first >> 3 & 7;
    let header = [0x12, 0x34, 0x80, 0x80 | code, 0, 1, 0, answers, 0, first >> 6 & 1, 0, 0];
    let mut message = [header.as_slice(), &question, rest].concat();
    if first & 0x80 != 0 {
        // Damage somewhere: the place, then the change, which may be none.
        let (place, change) = (rest.first().copied().unwrap_or(0), rest.get(1).copied().unwrap_or(0));
        message[usize::from(place) % (header.len() + question.len())] ^= change;
    }
    let said = within(data.len(), 1 << 20, || examine(&message, ID, name, is_v6));
    let is_whole = message[..2] == header[..2]
        && message[2] & 0xf8 == 0x80
        && message[4..6] == [0, 1]
        && message[header.len()..][..question.len()] == question;
    assert_eq!(said.is_some(), is_whole, "a reply repeats number and question");
    if let Some(Ok((addresses, ttl))) = &said {
        assert!(!addresses.is_empty() && *ttl <= i32::MAX as u32);
        for address in addresses {
            let bytes = match address {
                IpAddr::V4(address) => address.octets().to_vec(),
                IpAddr::V6(address) => address.octets().to_vec(),
            };
            assert_eq!(address.is_ipv6(), is_v6);
            assert!(
                message.windows(bytes.len()).any(|window| window == bytes),
                "{address} is not in the message"
            );
        }
    }
    for (id, name, is_v6) in
        [(ID ^ 1, "www.example.com", is_v6), (ID, "ww2.example.com", is_v6), (ID, "www.example.com", !is_v6)]
    {
        let other = examine(&message, id, HostName::new(name).expect("a name"), is_v6);
        assert!(said.is_none() || other.is_none(), "the reply to one question is none to another");
    }
    let any = examine(data, ID, name, is_v6);
    assert!(any.is_none() || data.len() >= header.len() + question.len());
}

/// Invariant: any bytes get one answer of a DNS server or none; it repeats number and question, is an answer, has a code, and is
/// at most ten times as long. The first byte says what stands before the others: nothing, a header, a header and a name.
pub fn question(data: &[u8]) {
    let (first, rest) = data.split_first().unwrap_or((&0, &[]));
    let header = [0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, first >> 2 & 3];
    let name = b"\x03WwW\x07example\x00\x00\x01\x00\x01";
    let message = match first & 3 {
        0 => rest.to_vec(),
        1 => [&header, rest].concat(),
        _ => [&header, &name[..], rest].concat(),
    };
    let Some(answer) = lycosa_names_server::examine(&message) else {
        return assert!(message.len() < 12 || message[2] & 0x80 != 0, "silence is for what is no question");
    };
    assert!(answer.len() >= 12 && answer[..2] == message[..2] && answer[2] & 0x80 != 0);
    assert!(answer.len() <= 10 * message.len(), "{} bytes for {}", answer.len(), message.len());
    if answer[5] == 1 && answer.len() > 12 && answer[3] & 0xf == 3 {
        let end = 12 + message[12..].iter().position(|&byte| byte == 0).expect("a name ends") + 5;
        assert_eq!(answer[12..end], message[12..end]);
    }
}
