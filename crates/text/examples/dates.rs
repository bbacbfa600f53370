//! Scratch.
use std::io::Read;
fn main() {
    let mut all = Vec::new();
    std::io::stdin().read_to_end(&mut all).unwrap();
    let mut at = 0;
    let mut next = || -> Option<String> {
        if at >= all.len() { return None; }
        let n = u32::from_le_bytes(all[at..at + 4].try_into().unwrap()) as usize;
        at += 4 + n;
        Some(String::from_utf8_lossy(&all[at - n..at]).into_owned())
    };
    while let (Some(url), Some(html)) = (next(), next()) {
        let tree = lycosa_dom::parse(&html, &lycosa_dom::Limits::default());
        let m = lycosa_text::metadata::Metadata::of(&tree, &url);
        println!("{}\t{}", m.published, m.modified);
    }
}
