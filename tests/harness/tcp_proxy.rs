use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

use tokio::io::{AsyncReadExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Most bytes that are swallowed at once.
const LOAD: usize = 64 * 1024;

/// A TCP proxy in front of a server on 127.0.0.1. A test can cut its connections, or have it discard what it receives.
pub struct TcpProxy {
    port: u16,
    server: Arc<AtomicU16>,
    opened: Arc<AtomicU64>,
    cut: Arc<watch::Sender<Cut>>,
    accepting: JoinHandle<()>,
}

/// What happens to all connections that were opened before a certain one.
#[derive(Clone, Copy)]
struct Cut {
    before: u64,
    how: How,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// What is said vanishes, and nothing comes back.
    Silent,
    /// Both ends see a reset.
    Reset,
    /// Both ends see that the other closed.
    Closed,
}

impl TcpProxy {
    /// A proxy to this port that forwards everything.
    ///
    /// # Panics
    ///
    /// If no port is free.
    pub async fn to(server: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let (server, opened) = (Arc::new(AtomicU16::new(server)), Arc::new(AtomicU64::new(0)));
        let cut = Arc::new(watch::Sender::new(Cut { before: 0, how: How::Closed }));
        let accepting = tokio::spawn(accept(listener, server.clone(), opened.clone(), cut.clone()));
        Self { port, server, opened, cut, accepting }
    }

    /// The port on 127.0.0.1 to connect to in place of the server's.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// New connections lead to this port, as a load balancer does while a server is replaced.
    pub fn lead_to(&self, server: u16) {
        self.server.store(server, Ordering::Relaxed);
    }

    /// How many connections were opened so far.
    pub fn opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    /// Resets the open connections, as a restarted server does.
    pub fn reset(&self) {
        self.cut(How::Reset);
    }

    /// Closes the connections that are there, as a server does after the timeout of an idle client.
    pub fn close(&self) {
        self.cut(How::Closed);
    }

    /// Existing connections stop responding for good without being closed, as behind a firewall that dropped its state. New ones work.
    pub fn silence(&self) {
        self.cut(How::Silent);
    }

    /// All connections are silent, new ones too, though they are accepted.
    pub fn silence_all(&self) {
        self.cut.send_replace(Cut { before: u64::MAX, how: How::Silent });
    }

    /// New connections work again; silent ones stay silent.
    pub fn pass(&self) {
        self.cut.send_replace(Cut { before: 0, how: How::Closed });
    }

    fn cut(&self, how: How) {
        self.cut.send_replace(Cut { before: self.opened(), how });
    }
}

impl Drop for TcpProxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.cut.send_replace(Cut { before: u64::MAX, how: How::Closed });
    }
}

async fn accept(listener: TcpListener, server: Arc<AtomicU16>, opened: Arc<AtomicU64>, cut: Arc<watch::Sender<Cut>>) {
    while let Ok((client, _)) = listener.accept().await {
        let number = opened.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(carry(client, server.load(Ordering::Relaxed), number, cut.subscribe()));
    }
}

/// Carries what both ends say until one of them closes, or the connection is cut.
async fn carry(mut client: TcpStream, server: u16, number: u64, mut cut: watch::Receiver<Cut>) {
    let Ok(mut server) = TcpStream::connect(("127.0.0.1", server)).await else { return };
    let how = tokio::select! {
        biased;
        how = next_cut(&mut cut, number) => how,
        _ = copy_bidirectional(&mut client, &mut server) => return,
    };
    if how == How::Reset {
        let _ = server.set_zero_linger();
    }
    drop(server);
    end(client, how, number, cut).await;
}

/// Until the connection is cut, and how.
async fn next_cut(cut: &mut watch::Receiver<Cut>, number: u64) -> How {
    cut.wait_for(|cut| number < cut.before).await.map_or(How::Closed, |cut| cut.how)
}

/// Swallows what the client says for as long as the connection is silent.
async fn end(mut client: TcpStream, mut how: How, number: u64, mut cut: watch::Receiver<Cut>) {
    let mut swallowed = vec![0; LOAD];
    while how == How::Silent {
        tokio::select! {
            changed = cut.changed() => {
                if changed.is_err() {
                    return;
                }
                let now = *cut.borrow();
                how = if number < now.before { now.how } else { How::Silent };
            }
            read = client.read(&mut swallowed) => if read.unwrap_or(0) == 0 {
                return;
            },
        }
    }
    if how == How::Reset {
        let _ = client.set_zero_linger();
    }
}
