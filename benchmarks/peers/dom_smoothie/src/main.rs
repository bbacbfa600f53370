//! dom_smoothie behind the protocol of `benchmarks.peers.extractors`.

use std::io::{self, Read, Write};

use cpu_time::ProcessTime;
use dom_smoothie::{Config, Readability, TextMode};

fn main() -> io::Result<()> {
    let (mut source, mut sink) = (io::stdin().lock(), io::stdout().lock());
    while let Some(url) = frame(&mut source)? {
        let Some(html) = frame(&mut source)? else { break };
        let begin = ProcessTime::now();
        let text = extract(&String::from_utf8_lossy(&html), &String::from_utf8_lossy(&url));
        let spent = begin.elapsed().as_nanos() as u64;
        sink.write_all(&spent.to_le_bytes())?;
        sink.write_all(&(text.len() as u32).to_le_bytes())?;
        sink.write_all(text.as_bytes())?;
        sink.flush()?;
    }
    Ok(())
}

/// Its defaults, with line breaks between blocks: without them words of two blocks are one.
fn config() -> Config {
    Config { text_mode: TextMode::Formatted, ..Config::default() }
}

fn extract(html: &str, url: &str) -> String {
    let url = (!url.is_empty()).then_some(url);
    let read = Readability::new(html, url, Some(config())).or_else(|_| Readability::new(html, None, Some(config())));
    read.and_then(|mut page| page.parse()).map(|article| article.text_content.to_string()).unwrap_or_default()
}

fn frame(source: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match source.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let mut bytes = vec![0; u32::from_le_bytes(length) as usize];
    source.read_exact(&mut bytes)?;
    Ok(Some(bytes))
}
