//! The servers of a scenario, over UDP and TCP, which all follow one script.

use std::collections::HashMap;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lycosa_url::Script as Hands;
use nix::sys::socket::{setsockopt, sockopt};

use super::message::{Entry, Question};
use super::support::bind_both;

/// The state that all servers share.
pub(crate) struct Script {
    entries: Mutex<Vec<Entry>>,
    /// Queries received by each server, over each protocol.
    questions: Mutex<HashMap<(usize, &'static str), usize>>,
    /// Messages that are sent when the next query arrives.
    held: Mutex<Vec<Box<dyn FnOnce() + Send>>>,
    /// Advances the client's clock.
    hands: &'static Hands,
    is_over: AtomicBool,
}

impl Script {
    /// A script of these entries.
    pub(crate) fn new(entries: Vec<Entry>, hands: &'static Hands) -> Arc<Self> {
        let (questions, held, is_over) = (Mutex::default(), Mutex::default(), AtomicBool::new(false));
        Arc::new(Script { entries: Mutex::new(entries), questions, held, hands, is_over })
    }

    /// Ends all servers' threads, each at its next event.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
    }

    /// The number of queries that a server received, over one protocol or all.
    pub(crate) fn questions(&self, server: usize, over: Option<&str>) -> usize {
        let questions = self.questions.lock().unwrap();
        let is_meant =
            |(place, protocol): &(usize, &str)| *place == server && over.is_none_or(|over| over == *protocol);
        questions.iter().filter(|(key, _)| is_meant(key)).map(|(_, count)| count).sum()
    }

    /// The entries that match a query; sends delayed messages, and advances the clock by the entries' time.
    fn entries(&self, server: usize, over: &'static str, question: &Question<'_>) -> Vec<Entry> {
        *self.questions.lock().unwrap().entry((server, over)).or_default() += 1;
        self.held.lock().unwrap().drain(..).for_each(|send| send());
        let mut entries = self.entries.lock().unwrap();
        let fits = |entry: &mut Entry| entry.fits(server, over, question).then(|| entry.clone());
        let found: Vec<Entry> = entries.iter_mut().filter_map(fits).collect();
        let passed = found.iter().map(|entry| entry.number("pass", 0) as u64).sum();
        self.hands.advance(Duration::from_millis(passed));
        found
    }

    /// Starts a server on UDP and TCP.
    pub(crate) fn serve(self: &Arc<Self>, server: usize) -> SocketAddr {
        let (tcp, udp) = bind_both();
        // Space for all queries at once: time stands still, so that a query that the kernel drops is never
        // repeated.
        setsockopt(&udp, sockopt::RcvBuf, &(4 << 20)).unwrap();
        let address = tcp.local_addr().unwrap();
        let script = self.clone();
        std::thread::spawn(move || script.answer_datagrams(server, Arc::new(udp)));
        let script = self.clone();
        std::thread::spawn(move || script.accept(server, &tcp));
        address
    }

    /// Answers over UDP.
    fn answer_datagrams(&self, server: usize, udp: Arc<UdpSocket>) {
        let stranger = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
        let mut buffer = [0; 2_000];
        while let Ok((count, client)) = udp.recv_from(&mut buffer)
            && !self.is_over.load(Ordering::Acquire)
        {
            let question = Question::read(&buffer[..count]);
            for entry in self.entries(server, "udp", &question) {
                let Some(message) = entry.message(&question) else { continue };
                let is_wrong = entry.adjust.contains_key("port");
                let socket = if is_wrong { stranger.clone() } else { udp.clone() };
                let (copies, delay) = (entry.number("copies", 1), entry.number("delay", 0));
                let send = move || (0..copies).for_each(|_| drop(socket.send_to(&message, client)));
                match delay {
                    _ if entry.adjust.contains_key("hold") => self.held.lock().unwrap().push(Box::new(send)),
                    0 => send(),
                    delay => drop(std::thread::spawn(move || {
                        std::thread::sleep(Duration::from_millis(delay as u64));
                        send();
                    })),
                }
            }
        }
    }

    /// Accepts connections.
    fn accept(self: &Arc<Self>, server: usize, tcp: &TcpListener) {
        for stream in tcp.incoming() {
            if self.is_over.load(Ordering::Acquire) {
                return;
            }
            let (script, stream) = (self.clone(), stream.unwrap());
            std::thread::spawn(move || script.answer_stream(server, stream));
        }
    }

    /// Answers on one connection, until the client or an entry closes it.
    fn answer_stream(&self, server: usize, mut stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        loop {
            let mut length = [0; 2];
            stream.read_exact(&mut length)?;
            let mut message = vec![0; u16::from_be_bytes(length).into()];
            stream.read_exact(&mut message)?;
            let question = Question::read(&message);
            for entry in self.entries(server, "tcp", &question) {
                if let Some(reply) = entry.message(&question) {
                    let length = (entry.number("length", reply.len()) as u16).to_be_bytes();
                    let bytes = [&length, &reply[..]].concat().repeat(entry.number("copies", 1));
                    for piece in bytes.chunks(entry.number("piece", bytes.len().max(1))) {
                        stream.write_all(piece)?;
                        std::thread::sleep(Duration::from_millis(u64::from(piece.len() < bytes.len())));
                    }
                }
                if entry.adjust.contains_key("close") {
                    return Ok(());
                }
            }
        }
    }
}
