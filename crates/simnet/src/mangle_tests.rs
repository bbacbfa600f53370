//! Tests of the pages of each difficult web server.

use super::*;
use crate::page;
use crate::params::Params;

/// A world whose hosts all have one manner.
fn world(manner: &str) -> World {
    let file = std::env::temp_dir().join(format!("lycosa-mangle-{}-{manner}.toml", std::process::id()));
    std::fs::write(&file, format!("[manners]\n{manner} = 1.0\n")).unwrap();
    let profile = file.to_str().unwrap().to_owned();
    let world = World::new(&Params { profile, hosts: 40, pages: 12, ..Params::default() });
    std::fs::remove_file(&file).unwrap();
    world
}

/// A page before and after mangling, and its Content-Type.
fn mangled(world: &World, host: u32, slot: u32) -> (String, Vec<u8>, String) {
    let mut out = b"head".to_vec();
    page::render(world, &crate::ports::Ports::default(), host, slot, &mut out);
    let before = String::from_utf8(out[4..].to_vec()).unwrap();
    let kind = mangle(world, host, slot, 4, &mut out).unwrap();
    assert_eq!(&out[..4], b"head");
    (before, out[4..].to_vec(), kind)
}

#[test]
fn charsets_are_real_and_give_the_text_back() {
    let world = world("foreign");
    let mut labels = std::collections::HashSet::new();
    for host in 0..40 {
        for slot in 0..world.pages(host).min(6) {
            let (_, body, kind) = mangled(&world, host, slot);
            let (encoding, line) = CHARSETS[host as usize % 10];
            let (text, bad) = match encoding {
                Some(encoding) => encoding.decode_without_bom_handling(&body),
                None => encoding_rs::UTF_16LE.decode_with_bom_removal(&body),
            };
            assert!(!bad && text.contains(line), "{kind} {line}");
            assert!(encoding.is_none() || std::str::from_utf8(&body).is_err());
            let named = (kind.contains("charset="), text.contains("<meta charset="));
            assert_eq!(named, (slot % 3 == 0, slot % 3 == 1 && encoding.is_some()));
            assert!(!text.contains("utf-8"));
            labels.insert(kind);
        }
    }
    assert_eq!(labels.len(), 11, "{labels:?}");
}

#[test]
fn broken_markup_keeps_every_link() {
    let world = world("broken");
    for host in 0..10 {
        let (before, after, _) = mangled(&world, host, 0);
        let after = String::from_utf8(after).unwrap();
        assert!(!after.contains("</html>") && !after.contains("</p>") && after.contains("<font color=red>"));
        let values = |html: &str| {
            let html = html.replace("HREF = ", "href=").replace("HREF=", "href=");
            let value =
                |rest: &str| rest.trim_start_matches('"').split(['"', '>']).next().unwrap().to_owned();
            html.split("href=").skip(1).map(value).collect::<Vec<_>>()
        };
        assert_eq!(values(&before), values(&after));
    }
}

#[test]
fn labels_lie_and_noise_is_noise() {
    let (mislabelled, binary) = (world("mislabelled"), world("binary"));
    let mut kinds = std::collections::HashSet::new();
    // Only hosts that hide no others have such a manner.
    let hosts = |world: &World| (0..40).filter(|&h| !world.nature(h).counts()).collect::<Vec<_>>();
    for host in hosts(&mislabelled) {
        let (before, after, kind) = mangled(&mislabelled, host, 0);
        assert_eq!(before.as_bytes(), after);
        kinds.insert(kind);
    }
    assert_eq!(kinds.len(), 3);
    for host in hosts(&binary) {
        let (before, after, kind) = mangled(&binary, host, 0);
        assert!(
            before.len() == after.len() && String::from_utf8(after).is_err() && kind.starts_with("text/html")
        );
    }
}
