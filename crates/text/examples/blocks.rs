//! Describes pages for `tools/text_model`: reads frames from standard input, and writes frames to standard output.
//!
//! ```text
//! frames in, by their first byte:
//!   T: tables of words, which hold from then on; nothing is answered
//!   W: a page (HTML, UTF-8); answered by the words of its blocks
//!   U: the URL of the page that comes next; nothing is answered
//!   K: a page; answered by how many words tell of its kind, and by these
//!   S: a page of the site of the last URL; answered by a byte for each block: 1 if earlier pages of the site have it
//!   C: a page; one more frame has the probabilities of its blocks (f32 each); answered by a byte for each: 1 if it is chosen
//!   M: tables of words; three more frames have the models of kinds, and both of blocks; nothing is answered
//!   X: a page with the last URL; one more frame has a byte for each block: 1 if it is boilerplate, or nothing; answered by the length of
//!      the text that the last models choose, and by that
//!   F: a page; answered by the length of what it states in place of a text that it has not, and by that
//!   D: a page; two more frames have the probabilities of its kind, and first ones of its blocks (f32 each, or nothing);
//!      answered by what they are
//! words of a block: of each source how many, and their hashes
//! answer to D: number of blocks · their words · their texts, each with its length · how many numbers · for each block those of features
//! (f32), and of the context if there were probabilities; all counts and hashes u32, all little-endian
//! ```

use std::io::{self, Read, Write};

use lycosa_dom::{Limits, parse};
use lycosa_text::blocks::Blocks;
use lycosa_text::choice::choose;
use lycosa_text::context::{COUNT, Context};
use lycosa_text::extract::{Learnt, Page, stated};
use lycosa_text::features::{NAMES, features};
use lycosa_text::kind::words_of_page;
use lycosa_text::templates::Templates;
use lycosa_text::tokens::{Tables, words_of_blocks};

/// Elements around a block whose classes are words of it.
const AROUND: usize = 8;

/// Sites whose templates are kept.
const SITES: usize = 1_000;

fn main() -> io::Result<()> {
    let (mut from, mut into) = (io::stdin().lock(), io::stdout().lock());
    if std::env::args().nth(1).as_deref() == Some("names") {
        let context = (0..COUNT).map(|number| format!("context_{number}"));
        let names = NAMES.iter().map(ToString::to_string).chain(context);
        return writeln!(into, "{}", names.collect::<Vec<_>>().join("\n"));
    }
    let (mut tables, mut url, templates) = (Tables::default(), String::new(), Templates::new(SITES));
    let mut pages = 0u64;
    let mut learnt = None;
    while let Some(given) = frame(&mut from)? {
        let Some((command, given)) = given.split_first() else { continue };
        match command {
            b'T' => {
                tables = Tables::of(given).ok_or_else(|| io::Error::other("these are no tables"))?;
            }
            b'W' => {
                let tree = parse(&String::from_utf8_lossy(given), &Limits::default());
                for words in words_of_blocks(&tree, &Blocks::of(&tree), AROUND).iter().flatten() {
                    put(&mut into, words.len() as u32)?;
                    words.iter().try_for_each(|word| put(&mut into, *word))?;
                }
            }
            b'U' => url = String::from_utf8_lossy(given).into_owned(),
            b'K' => {
                let tree = parse(&String::from_utf8_lossy(given), &Limits::default());
                let words = words_of_page(&tree, &Blocks::of(&tree), &url);
                put(&mut into, words.len() as u32)?;
                words.iter().try_for_each(|word| put(&mut into, *word))?;
            }
            b'C' => {
                let Some(probabilities) = frame(&mut from)? else { break };
                let tree = parse(&String::from_utf8_lossy(given), &Limits::default());
                let (is_chosen, _) = choose(&Blocks::of(&tree), &numbers_of(&probabilities));
                into.write_all(&is_chosen.into_iter().map(u8::from).collect::<Vec<_>>())?;
            }
            b'M' => {
                let (Some(kinds), Some(first), Some(second)) =
                    (frame(&mut from)?, frame(&mut from)?, frame(&mut from)?)
                else {
                    break;
                };
                let read = Learnt::of(given, &kinds, &first, &second);
                learnt = Some(read.ok_or_else(|| io::Error::other("these are no models"))?);
            }
            b'X' => {
                let Some(flags) = frame(&mut from)? else { break };
                let flags: Vec<_> = flags.into_iter().map(|flag| flag != 0).collect();
                let tree = parse(&String::from_utf8_lossy(given), &Limits::default());
                let blocks = Blocks::of(&tree);
                let text = Page::by(learnt.as_ref(), tree, blocks, &url, &flags).text();
                put(&mut into, text.len() as u32)?;
                into.write_all(text.as_bytes())?;
            }
            b'F' => {
                let tree = parse(&String::from_utf8_lossy(given), &Limits::default());
                let text = stated(&tree, &Blocks::of(&tree));
                put(&mut into, text.len() as u32)?;
                into.write_all(text.as_bytes())?;
            }
            b'S' => {
                let tree = parse(&String::from_utf8_lossy(given), &Limits::default());
                // Pages come without URLs of their own: each is another one.
                pages += 1;
                let flags = templates.learn(&url, &pages.to_string(), &Blocks::of(&tree));
                into.write_all(&flags.into_iter().map(u8::from).collect::<Vec<_>>())?;
            }
            _ => {
                let (Some(kinds), Some(first)) = (frame(&mut from)?, frame(&mut from)?) else { break };
                describe(
                    &mut into,
                    &String::from_utf8_lossy(given),
                    &tables,
                    &numbers_of(&kinds),
                    &numbers_of(&first),
                )?;
            }
        }
        into.flush()?;
    }
    Ok(())
}

/// Writes what the blocks of a page are.
fn describe(
    into: &mut impl Write,
    page: &str,
    tables: &Tables,
    kinds: &[f32],
    first: &[f32],
) -> io::Result<()> {
    let tree = parse(page, &Limits::default());
    let blocks = Blocks::of(&tree);
    put(into, blocks.all.len() as u32)?;
    for block in &blocks.all {
        put(into, block.words)?;
    }
    for block in &blocks.all {
        let text = blocks.text_of(block);
        put(into, text.len() as u32)?;
        into.write_all(text.as_bytes())?;
    }
    let with_context = !first.is_empty() && first.len() == blocks.all.len();
    let width = NAMES.len() + if with_context { COUNT } else { 0 };
    let mut numbers = features(&tree, &blocks, tables, &kinds.try_into().unwrap_or_default(), width);
    if with_context {
        Context::of(&blocks, first).write(0, &mut numbers, width);
    }
    put(into, numbers.len() as u32)?;
    numbers.iter().try_for_each(|number| into.write_all(&number.to_le_bytes()))
}

/// The numbers of a frame.
fn numbers_of(frame: &[u8]) -> Vec<f32> {
    frame.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap_or_default())).collect()
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
