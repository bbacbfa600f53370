//! x
use lycosa_dom::{Limits, parse};
use lycosa_text::blocks::Blocks;
use lycosa_text::markdown::{Options, markdown};
fn main() {
    let html = std::env::args().nth(1).unwrap();
    let tree = parse(&html, &Limits::default());
    let blocks = Blocks::of(&tree);
    println!("{:?} {:?}", blocks.text, blocks.all);
    for n in 0..tree.len() as u32 {
        println!("{n} {:?} {:?} parent {}", tree.tag(n), tree.text(n), tree.parent(n));
    }
    println!(
        "{:?}",
        markdown(&tree, &blocks, &vec![true; blocks.all.len()], Options { links: true, images: true })
    );
}
