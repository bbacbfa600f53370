//! x
use lycosa_fetch::{Examiner, Settings};
use lycosa_records::*;
#[test]
fn x() {
    let e = Examiner::new(&Settings { max_header_bytes: 8<<10, max_headers: 20, max_body_bytes: 2<<10, ..Settings::default() }).unwrap();
    for sent in ["HTTP/1.1 200 OK\r\na: b\r\n \0x\r\n\r\n", "HTTP/1.1 200 OK\r\na: b\r\n y\rx\r\n\r\n", "HTTP/1.1 200 OK\r\na: b\r\n y\x01x\r\n\r\n", "HTTP/1.1 200 OK\r\n\0a: b\r\n y\rx\r\nc: d\r\n \0\r\ne: f\r\n\r\n"] {
        let a = e.answer(&[sent.as_bytes()]);
        println!("{sent:?} -> {:?}", a.map(|a| a.head.fields().map(|(n,v)| format!("{n}={v:?}")).collect::<Vec<_>>()));
    }
}
fn nested(depth: usize) -> Vec<u8> {
    let mut f = b"\x82\xa3url\xb3http://example.com/\xa7options\x81\xa8metadata\x81\xa1k".to_vec();
    f.extend(vec![0x91; depth]); f.push(0xc0); f
}
fn frame(kind: u8, facts: &[u8]) -> Vec<u8> {
    let mut v = Vec::new();
    v.extend((facts.len() as u32).to_le_bytes()); v.extend([0;4]); v.extend([kind,2,0,0]); v.extend([0;4]);
    let c = crc32fast::hash(&[&v[..], facts].concat());
    v.extend(c.to_le_bytes()); v.extend(facts); v
}
#[test]
fn deep() {
    for depth in [10, 100, 200, 500, 900, 1000, 1010, 1015, 1016,1017,1018,1019,1020, 1021,1022,1023,1024] {
        let m = frame(5, &nested(depth));
        let d = decode::<Request>(&m.into());
        match d { Ok(r) => {
            let e = encode(&r).map(|e| decode::<Request>(&e.into()).map(|x| x == r));
            let c = r.clone(); drop(c); let j = serde_json::to_string(&r[0].options.as_ref().unwrap().metadata).unwrap();
            println!("{depth}: {e:?} json {}", serde_json::from_str::<serde_json::Value>(&j).is_ok());
            let o = Outcome::new(Response{request: r[0].clone(), address: None, started: 0, finished: 0, times: Times::default(), result: Ok(Received::default())});
            let e = encode(&[o]).map(|e| decode::<Outcome>(&e.into()).map(|x| x.len()));
            println!("   as outcome {e:?}");
        } Err(e) => println!("{depth}: {e}") }
    }
}
