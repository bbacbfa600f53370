#![allow(clippy::unwrap_used, reason = "scratch: will not land")]
//! Tells what pages are. Frames in: status (u32), number of headers, name and value of each, HTML.
use std::io::{Read, Write};

use lycosa_dom::{Limits, parse};
use lycosa_text::blocks::Blocks;
use lycosa_text::refusal::{Seen, refusal};

fn main() {
    let mut data = Vec::new();
    std::io::stdin().read_to_end(&mut data).unwrap();
    let mut at = 0;
    let number = |at: &mut usize| {
        let n = u32::from_le_bytes(data[*at..*at + 4].try_into().unwrap());
        *at += 4;
        n
    };
    let text = |at: &mut usize| {
        let n = number(at) as usize;
        let t = String::from_utf8_lossy(&data[*at..*at + n]).into_owned();
        *at += n;
        t
    };
    let mut out = std::io::stdout().lock();
    while at < data.len() {
        let status = number(&mut at) as u16;
        let fields: Vec<_> = (0..number(&mut at)).map(|_| (text(&mut at), text(&mut at))).collect();
        let fields: Vec<_> = fields.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        let html = text(&mut at);
        let tree = parse(&html, &Limits::default());
        let blocks = Blocks::of(&tree);
        let found = refusal(&Seen::of(&tree, &blocks, &html, &fields, status));
        writeln!(out, "{}\t{}", found.map_or("-", |f| f.kind), found.map_or("", |f| f.mark)).unwrap();
    }
}
