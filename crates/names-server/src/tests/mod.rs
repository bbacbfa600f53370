//! Tests of complete servers on loopback, with a scripted upstream.

#[path = "../../../names/tests/support/mod.rs"]
mod bound;
mod clients;
mod connections;
mod logged;
mod prefetches;
mod private;
mod reasons;
mod regressions;
mod reloads;
mod stale;
mod times;
mod upstreams;

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, TcpStream, UdpSocket};

use domain::base::iana::{Rcode, Rtype};
use domain::base::{Message, MessageBuilder, Name};
use domain::rdata::{A, Aaaa, Txt};
use lycosa_names::cache::compact::CompactSettings;

use bound::bind_both;

use super::*;

/// A scripted upstream, which records the names and types that it is asked for.
#[derive(Clone)]
struct Upstream {
    address: SocketAddr,
    says: Arc<Mutex<Says>>,
    asked: Arc<Mutex<Vec<(String, u16)>>>,
    is_over: Arc<AtomicBool>,
}

#[derive(Clone, Copy)]
enum Says {
    Addresses(u32),
    /// A TXT record of this many bytes.
    Text(usize),
    /// The reply that this function builds from a question.
    Built(fn(&Message<[u8]>) -> Vec<u8>),
    Nothing,
    Code(Rcode),
}

impl Upstream {
    fn start(says: Says) -> Self {
        Upstream::answering(UdpSocket::bind("127.0.0.1:0").unwrap(), says)
    }

    fn answering(socket: UdpSocket, says: Says) -> Self {
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let upstream = Upstream {
            address: socket.local_addr().unwrap(),
            says: Arc::new(Mutex::new(says)),
            asked: Arc::default(),
            is_over: Arc::default(),
        };
        let it = upstream.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 2_000];
            while !it.is_over.load(Relaxed) {
                let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
                if let Some(answer) = it.answer(&buffer[..length]) {
                    socket.send_to(&answer, from).unwrap();
                }
            }
        });
        upstream
    }

    fn answer(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let message = Message::from_slice(bytes).unwrap();
        let question = message.sole_question().unwrap();
        let name = question.qname().to_string().to_lowercase();
        let (is_probe, is_dead) = (name.ends_with(LOOP_ZONE), name.starts_with("dead."));
        lock(&self.asked).push((name, question.qtype().to_int()));
        let says = *lock(&self.says);
        let code = match says {
            Says::Nothing => return None,
            _ if is_dead => return None,
            _ if is_probe => Rcode::NXDOMAIN,
            Says::Built(build) => return Some(build(message)),
            Says::Code(code) => code,
            Says::Addresses(_) | Says::Text(_) => Rcode::NOERROR,
        };
        let mut answer = MessageBuilder::new_vec().start_answer(message, code).unwrap();
        answer.header_mut().set_ra(true);
        if let Says::Addresses(ttl) = says {
            let owner = question.qname();
            match question.qtype() {
                Rtype::A => answer.push((owner, ttl, A::from_octets(192, 0, 2, 7))).unwrap(),
                Rtype::AAAA => answer.push((owner, ttl, Aaaa::new("fd00::7".parse().unwrap()))).unwrap(),
                _ => (),
            }
        }
        if let Says::Text(length) = says {
            let text = Txt::<Vec<u8>>::build_from_slice(&vec![b'x'; length]).unwrap();
            answer.push((question.qname(), 60, text)).unwrap();
        }
        Some(answer.into_message().into_octets())
    }

    /// Answers over TCP, too, one question per connection, which it closes then. Returns the number of
    /// connections.
    fn start_with_tcp(says: Says) -> (Self, Arc<AtomicU64>) {
        let (listener, socket) = bind_both();
        let upstream = Upstream::answering(socket, says);
        let (it, connections) = (upstream.clone(), Arc::<AtomicU64>::default());
        let counted = connections.clone();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                counted.fetch_add(1, Relaxed);
                while let Some(asked) = unframed(&mut stream) {
                    if let Some(answer) = it.answer(&asked) {
                        stream.write_all(&framed(&answer)).unwrap();
                        break;
                    }
                }
            }
        });
        (upstream, connections)
    }

    fn say(&self, says: Says) {
        *lock(&self.says) = says;
    }

    fn asked(&self, name: &str, rtype: Rtype) -> u32 {
        lock(&self.asked).iter().filter(|(asked, of)| asked == name && *of == rtype.to_int()).count() as u32
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.is_over.store(Arc::strong_count(&self.is_over) <= 2, Relaxed);
    }
}

fn server_of(upstreams: &[SocketAddr], change: impl FnOnce(&mut ServerSettings)) -> Server {
    let compact = CompactSettings {
        capacity: 1_000,
        negative_capacity: Some(0),
        min_ttl: 60,
        ..CompactSettings::default()
    };
    let mut settings =
        ServerSettings { listen: vec!["127.0.0.1:0".parse().unwrap()], ..ServerSettings::default() };
    settings.upstream.servers = upstreams.iter().copied().map(Into::into).collect();
    settings.upstream.timeout = Duration::from_millis(300);
    settings.upstream.attempts = 2;
    change(&mut settings);
    let now = settings.upstream.clock.wall() / 1_000_000;
    Server::start(settings, Arc::new(CompactCache::in_memory(compact, now, None).unwrap())).unwrap()
}

fn question(name: &str, rtype: Rtype) -> Vec<u8> {
    let mut builder = MessageBuilder::new_vec();
    builder.header_mut().set_id(77);
    builder.header_mut().set_rd(true);
    let mut builder = builder.question();
    builder.push((name.parse::<Name<Vec<u8>>>().unwrap(), rtype)).unwrap();
    builder.into_message().into_octets()
}

fn client_of(server: &Server, from: &str) -> UdpSocket {
    let socket = UdpSocket::bind((from.parse::<IpAddr>().unwrap(), 0)).unwrap();
    socket.connect(server.listening()[0]).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    socket
}

/// A silent upstream, its server, and a client that has asked for the addresses of a name.
fn waiting_for_silence(name: &str) -> (Upstream, Server, UdpSocket) {
    let upstream = Upstream::start(Says::Nothing);
    let server = server_of(&[upstream.address], |_| ());
    let waiting = client_of(&server, "127.0.0.1");
    waiting.send(&question(name, Rtype::A)).unwrap();
    while count(&server, "waiting") == 0 {
        std::thread::yield_now();
    }
    (upstream, server, waiting)
}

/// A message with its TCP length prefix.
fn framed(message: &[u8]) -> Vec<u8> {
    [&(message.len() as u16).to_be_bytes()[..], message].concat()
}

/// The next message of a connection; `None` at its end.
fn unframed(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut length = [0; 2];
    stream.read_exact(&mut length).ok()?;
    let mut message = vec![0; u16::from_be_bytes(length).into()];
    stream.read_exact(&mut message).ok()?;
    Some(message)
}

fn receive(socket: &UdpSocket) -> Option<Message<Vec<u8>>> {
    let mut buffer = vec![0; 2_000];
    let length = socket.recv(&mut buffer).ok()?;
    buffer.truncate(length);
    Some(Message::from_octets(buffer).unwrap())
}

fn ask_bytes(server: &Server, question: &[u8]) -> Message<Vec<u8>> {
    let socket = client_of(server, "127.0.0.1");
    socket.send(question).unwrap();
    receive(&socket).unwrap()
}

fn ask_one(server: &Server, name: &str, rtype: Rtype) -> Message<Vec<u8>> {
    let socket = client_of(server, "127.0.0.1");
    socket.send(&question(name, rtype)).unwrap();
    receive(&socket).unwrap()
}

fn count(server: &Server, name: &str) -> u64 {
    server.statistics().into_iter().find(|(known, _)| *known == name).unwrap().1
}

fn code(message: &Message<Vec<u8>>) -> Rcode {
    message.header().rcode()
}

fn ttl(message: &Message<Vec<u8>>) -> u32 {
    message.answer().unwrap().next().unwrap().unwrap().ttl().as_secs()
}
