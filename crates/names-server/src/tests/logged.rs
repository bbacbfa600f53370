//! Tests of the query log of complete servers.

use std::path::Path;

use super::*;

/// A line without its time and duration.
fn told(line: &str) -> String {
    let (start, end) = (line.find("\"client\"").unwrap(), line.rfind(",\"microseconds\"").unwrap());
    line[start..end].replace('"', "")
}

/// Waits until the log has `count` lines; returns them.
fn lines(path: &Path, count: usize) -> Vec<String> {
    let until = Instant::now() + Duration::from_secs(5);
    loop {
        let text = std::fs::read_to_string(path).unwrap();
        if text.lines().count() >= count {
            return text.lines().map(told).collect();
        }
        assert!(Instant::now() < until, "{text}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn each_answer_has_its_line_with_where_it_came_from() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let upstream = Upstream::start(Says::Addresses(3_600));
    let server = server_of(&[upstream.address], |settings| {
        settings.query_log = Some(path.clone());
        settings.policy.allow = vec!["127.0.0.1".parse().unwrap()];
    });
    let mut wanted = Vec::new();
    let mut ask = |client: &str, name: &str, rtype, rest: &str| {
        let client = client_of(&server, client);
        client.send(&question(name, rtype)).unwrap();
        receive(&client).unwrap();
        wanted.push(format!("client:127.0.0.0/24,name:{}", rest));
        lines(&path, wanted.len());
    };
    ask("127.0.0.1", "A.Example", Rtype::A, "a.example,type:A,transport:udp,code:NOERROR,source:upstream");
    ask("127.0.0.1", "a.example", Rtype::A, "a.example,type:A,transport:udp,code:NOERROR,source:cache");
    ask("127.0.0.1", "a.example", Rtype::MX, "a.example,type:MX,transport:udp,code:NOERROR,source:upstream");
    ask("127.0.0.1", "a.onion", Rtype::AAAA, "a.onion,type:AAAA,transport:udp,code:NXDOMAIN,source:own");
    ask("127.0.0.9", "a.example", Rtype::A, "a.example,type:A,transport:udp,code:REFUSED,source:refused");
    upstream.say(Says::Code(Rcode::SERVFAIL));
    ask("127.0.0.1", "b.example", Rtype::A, "b.example,type:A,transport:udp,code:SERVFAIL,source:upstream");
    let mut stream = TcpStream::connect(server.listening()[0]).unwrap();
    stream.write_all(&framed(&question("a.example", Rtype::A))).unwrap();
    unframed(&mut stream).unwrap();
    wanted.push("client:127.0.0.0/24,name:a.example,type:A,transport:tcp,code:NOERROR,source:cache".into());
    assert_eq!(lines(&path, wanted.len()), wanted);
    assert_eq!((count(&server, "query_log_dropped"), server.query_log_trouble()), (0, None));
}

#[test]
fn a_reload_opens_the_log_again_and_changes_how_much_it_tells_of_clients() {
    let folder = tempfile::tempdir().unwrap();
    let (path, old) = (folder.path().join("log"), folder.path().join("log.1"));
    let upstream = Upstream::start(Says::Addresses(3_600));
    let server = server_of(&[upstream.address], |settings| settings.query_log = Some(path.clone()));
    ask_one(&server, "a.example", Rtype::A);
    lines(&path, 1);
    std::fs::rename(&path, &old).unwrap();
    let (mut policy, settings) = (Policy::default(), lock(&server.settings).upstream.clone());
    policy.query_log_clients = Some(ClientBits { v4: 32, v6: 128 });
    server.reload(policy.clone(), settings.clone()).unwrap();
    ask_one(&server, "a.example", Rtype::A);
    assert!(lines(&path, 1)[0].starts_with("client:127.0.0.1,"));
    assert_eq!(lines(&old, 1).len(), 1);
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    let error = server.reload(Policy { max_ttl: 77, ..policy }, settings).unwrap_err().to_string();
    assert!(error.contains("log: Is a directory"), "{error}");
    assert_ne!(lock(&server.settings).policy.max_ttl, 77, "nothing has changed");
}
