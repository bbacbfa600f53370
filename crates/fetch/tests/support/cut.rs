//! A relay that ends connections after a number of bytes from the server.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum End {
    /// By FIN.
    Close,
    /// By RST.
    Reset,
}

/// A relay to a server, with the end of the connections that begin now.
pub(crate) struct Cut {
    /// The address that it listens on.
    pub(crate) address: SocketAddr,
    plan: Arc<Mutex<(u64, End)>>,
    passed: Arc<AtomicU64>,
}

impl Cut {
    /// Starts a relay that passes everything on.
    pub(crate) fn start(target: SocketAddr) -> Cut {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let (plan, passed) = (Arc::new(Mutex::new((u64::MAX, End::Close))), Arc::new(AtomicU64::new(0)));
        let (current, counter) = (plan.clone(), passed.clone());
        std::thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = TcpListener::from_std(listener).unwrap();
                while let Ok((client, _)) = listener.accept().await {
                    let (plan, counter) = (*current.lock().unwrap(), counter.clone());
                    tokio::spawn(async move { relay(client, target, plan, &counter).await });
                }
            });
        });
        Cut { address, plan, passed }
    }

    /// Ends the connections that begin from now on after so many bytes from the server.
    pub(crate) fn after(&self, bytes: u64, end: End) {
        *self.plan.lock().unwrap() = (bytes, end);
    }

    /// Bytes from the server that were passed on, of all connections.
    pub(crate) fn passed(&self) -> u64 {
        self.passed.load(Ordering::SeqCst)
    }
}

async fn relay(mut client: TcpStream, target: SocketAddr, (limit, end): (u64, End), passed: &AtomicU64) {
    // The end is always an answer to something.
    let _ = client.peek(&mut [0]).await;
    let Ok(mut server) = TcpStream::connect(target).await else { return };
    {
        let (mut from_client, mut to_client) = client.split();
        let (from_server, mut to_server) = server.split();
        let mut limited = from_server.take(limit);
        let down = async {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = limited.read(&mut buffer).await
                && to_client.write_all(&buffer[..count]).await.is_ok()
            {
                passed.fetch_add(count as u64, Ordering::SeqCst);
            }
        };
        tokio::select! {
            _ = copy(&mut from_client, &mut to_server) => {}
            () = down => {}
        }
    }
    if end == End::Reset {
        client.set_zero_linger().unwrap();
    }
}
