//! Connections over TCP to a server on loopback that the test plays.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use super::*;

const PLACE: Place = 0;

/// Connections to one server, and the server's side.
struct Scene {
    streams: Streams,
    last: SocketId,
    now: Micros,
    listener: TcpListener,
    server: Nameserver,
}

impl Scene {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = listener.local_addr().unwrap().into();
        Scene { streams: Streams::new(None), last: 0, now: 0, listener, server }
    }

    /// Sends a query; returns the connection that it takes.
    fn ask(&mut self) -> SocketId {
        let id = self.streams.connect(PLACE, &self.server, &mut self.last, self.now).unwrap();
        self.streams.push(id, b"query", self.now);
        id
    }

    /// The server's side of the next connection, after it has read so many queries.
    fn accept(&mut self, id: SocketId, queries: usize) -> TcpStream {
        let (mut server, _) = self.listener.accept().unwrap();
        assert!(self.streams.serve(id, self.now, |_| ()).is_none());
        server.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        server.read_exact(&mut vec![0; queries * (PREFIX + 5)]).unwrap();
        server
    }

    /// Serves a connection until this many replies have come, or it has ended; returns its end.
    fn serve(&mut self, id: SocketId, replies: usize) -> Option<Ended> {
        let (mut came, until) = (0, Instant::now() + Duration::from_secs(10));
        loop {
            let ended = self.streams.serve(id, self.now, |_| came += 1);
            if ended.is_some() || came == replies && replies > 0 {
                return ended;
            }
            assert!(Instant::now() < until);
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

#[test]
fn a_server_that_restarts_is_asked_as_before_if_it_had_answered_more_than_was_lost() {
    let mut scene = Scene::new();
    let ids: Vec<SocketId> = (0..5).map(|_| scene.ask()).collect();
    let mut server = scene.accept(ids[0], 5);
    server.write_all(b"\0\x01a\0\x01b\0\x01c").unwrap();
    scene.serve(ids[0], 3);
    drop(server);
    assert!(scene.serve(ids[0], 0).unwrap().is_worth_repeating);
    let (one, other) = (scene.ask(), scene.ask());
    assert_eq!(one, other, "they share a connection");
}

#[test]
fn a_server_that_breaks_connections_is_asked_one_by_one_on_those_that_are_free_and_for_a_minute() {
    let mut scene = Scene::new();
    let ids: Vec<SocketId> = (0..3).map(|_| scene.ask()).collect();
    drop(scene.accept(ids[0], 3));
    assert!(scene.serve(ids[0], 0).is_some());
    let (one, other) = (scene.ask(), scene.ask());
    assert_ne!(one, other);
    let mut server = scene.accept(one, 1);
    server.write_all(b"\0\x01a").unwrap();
    scene.serve(one, 1);
    assert_eq!(scene.ask(), one, "it is free again");
    assert!(![one, other].contains(&scene.ask()));
    scene.now += SERIAL;
    let (one, other) = (scene.ask(), scene.ask());
    let known = scene.streams.open.len();
    assert_eq!((known, one != other), (3, true), "no further connection is made");
}
