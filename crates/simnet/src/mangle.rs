//! Changes that difficult web servers make to pages: wrong labels, random bytes, broken markup, other charsets.

use encoding_rs::{
    BIG5, EUC_JP, EUC_KR, Encoding, GBK, ISO_8859_2, KOI8_R, SHIFT_JIS, WINDOWS_1251, WINDOWS_1252,
};

use crate::nature::Manner;
use crate::random::Rng;
use crate::world::World;

/// Charsets other than UTF-8, each with a typical line of text. `None` is UTF-16LE, always with its byte order mark.
const CHARSETS: [(Option<&Encoding>, &str); 10] = [
    (Some(WINDOWS_1252), "Garçon, l’été à Málaga – über 30 °C “déjà vu”"),
    (Some(ISO_8859_2), "Žluťoučký kůň úpěl ďábelské ódy; Győr, Kraków"),
    (Some(WINDOWS_1251), "Погода в Москве: снег, утром ясно"),
    (Some(KOI8_R), "Железная дорога и новый музей"),
    (Some(SHIFT_JIS), "東京の天気は晴れ、ソウルは雨"),
    (Some(EUC_JP), "京都の図書館と美術館のご案内"),
    (Some(GBK), "北京今天的天气很好，欢迎光临"),
    (Some(BIG5), "臺北的圖書館與博物館"),
    (Some(EUC_KR), "서울의 날씨는 맑음, 부산은 비"),
    (None, "Ελληνικά, עברית, 日本語"),
];

/// Changes the HTML in `out[start..]` by the host's manner; returns the value of Content-Type, or `None` if nothing was changed.
pub(crate) fn mangle(world: &World, host: u32, slot: u32, start: usize, out: &mut Vec<u8>) -> Option<String> {
    match world.nature(host).manner {
        Manner::Mislabelled => {
            Some(["image/png", "text/plain; charset=utf-8", "application/pdf"][host as usize % 3].to_owned())
        }
        Manner::Binary => {
            let mut rng = Rng::new(u64::from(host), 30, u64::from(slot), 0);
            out[start..].chunks_mut(8).for_each(|chunk| {
                let bytes = rng.bits().to_le_bytes();
                chunk.copy_from_slice(&bytes[..chunk.len()]);
            });
            Some("text/html; charset=utf-8".to_owned())
        }
        Manner::Broken => {
            let html = String::from_utf8_lossy(&out[start..]).into_owned();
            out.truncate(start);
            out.extend_from_slice(break_markup(&html).as_bytes());
            Some("text/html; charset=utf-8".to_owned())
        }
        Manner::Foreign => {
            let html = String::from_utf8_lossy(&out[start..]).into_owned();
            let (body, charset) = encode(&html, host, slot);
            out.truncate(start);
            out.extend_from_slice(&body);
            Some(charset.map_or("text/html".to_owned(), |name| format!("text/html; charset={name}")))
        }
        _ => None,
    }
}

/// Encodes the page in its host's charset; returns the charset too if the header must declare it. A third of the pages declare it in the
/// header, a third in the page, a third nowhere.
fn encode(html: &str, host: u32, slot: u32) -> (Vec<u8>, Option<&'static str>) {
    let (encoding, line) = CHARSETS[host as usize % CHARSETS.len()];
    let (in_header, in_page) = (slot.is_multiple_of(3), slot % 3 == 1 && encoding.is_some());
    let label = encoding.map_or("utf-16le", |encoding| encoding.name());
    let meta = if in_page { format!("<meta charset=\"{label}\">") } else { String::new() };
    let html = html
        .replacen("<meta charset=\"utf-8\">", &meta, 1)
        .replacen("<meta http-equiv=\"Content-Type\" content=\"text/html; charset=utf-8\">", &meta, 1)
        .replacen("<h1>", &format!("<h1>{line} "), 1);
    let body = match encoding {
        // Characters that the charset lacks become numeric references.
        Some(encoding) => encoding.encode(&html).0.into_owned(),
        None => "\u{feff}".encode_utf16().chain(html.encode_utf16()).flat_map(u16::to_le_bytes).collect(),
    };
    (body, in_header.then_some(label))
}

/// Makes markup invalid in ways that every browser tolerates: missing end tags, missing quotes, misnested elements, stray table tags.
/// Every link is preserved.
fn break_markup(html: &str) -> String {
    let mut html = html.to_owned();
    for lost in
        ["</head>\n", "<body>\n", "</li>", "</p>", "</ul>", "</article>", "</footer>\n</body>\n</html>\n"]
    {
        html = html.replace(lost, "");
    }
    let mut out = String::with_capacity(html.len() + 1024);
    let mut parts = html.split("<a href=\"");
    out.push_str(parts.next().unwrap_or_default());
    for (i, part) in parts.enumerate() {
        let (value, rest) = part.split_once('"').unwrap_or((part, ""));
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/:._?=%#-".contains(&byte);
        if !value.is_empty() && value.bytes().all(plain) && rest.starts_with('>') {
            out.push_str("<a href=");
            out.push_str(value);
            out.push_str(rest);
        } else {
            out.push_str("<A\nHREF = \"");
            out.push_str(value);
            out.push('"');
            out.push_str(rest);
        }
        out.push_str(
            ["<b><i></b></i>", "</div></table>", "<tr><td>", "<font color=red>", "&nbsp &eacute; &#x41"]
                [i % 5],
        );
    }
    out
}

#[cfg(test)]
#[path = "mangle_tests.rs"]
mod tests;
