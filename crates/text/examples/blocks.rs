//! Describes pages for `tools/train_text.py`: reads frames from standard input, and writes frames to standard output.
//!
//! ```text
//! frame in: page (HTML, UTF-8) · first probabilities of its blocks (f32 each; none: 0 bytes); both with their length (u32) before them
//! frame out: number of blocks · their words · their texts, each with its length · numbers of features (f32) · of the context, if there were
//! probabilities; all counts u32, all little-endian
//! ```

use std::io::{self, Read, Write};

use lycosa_dom::{Limits, parse};
use lycosa_text::blocks::Blocks;
use lycosa_text::context::{COUNT, context};
use lycosa_text::features::{NAMES, features};

fn main() -> io::Result<()> {
    let (mut from, mut into) = (io::stdin().lock(), io::stdout().lock());
    if std::env::args().nth(1).as_deref() == Some("names") {
        let context = (0..COUNT).map(|number| format!("context_{number}"));
        let names = NAMES.iter().map(ToString::to_string).chain(context);
        return writeln!(into, "{}", names.collect::<Vec<_>>().join("\n"));
    }
    while let Some(page) = frame(&mut from)? {
        let Some(given) = frame(&mut from)? else { break };
        let tree = parse(&String::from_utf8_lossy(&page), &Limits::default());
        let blocks = Blocks::of(&tree);
        let first: Vec<f32> = given
            .chunks_exact(4)
            .map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap_or_default()))
            .collect();
        put(&mut into, blocks.all.len() as u32)?;
        for block in &blocks.all {
            put(&mut into, block.words)?;
        }
        for block in &blocks.all {
            let text = blocks.text_of(block);
            put(&mut into, text.len() as u32)?;
            into.write_all(text.as_bytes())?;
        }
        let mut numbers = features(&tree, &blocks);
        if first.len() == blocks.all.len() {
            numbers.extend(context(&blocks, &first));
        }
        put(&mut into, numbers.len() as u32)?;
        for number in numbers {
            into.write_all(&number.to_le_bytes())?;
        }
        into.flush()?;
    }
    Ok(())
}

/// Reads a frame; `None`: there is no more.
fn frame(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let mut bytes = vec![0; u32::from_le_bytes(length) as usize];
    from.read_exact(&mut bytes)?;
    Ok(Some(bytes))
}

/// Writes a number.
fn put(into: &mut impl Write, number: u32) -> io::Result<()> {
    into.write_all(&number.to_le_bytes())
}
