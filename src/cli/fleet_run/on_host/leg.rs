//! One side of the network's own leg: a port for listed clients that know a token, or a client of it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use narrows_session::fleet::leg::{LEG_STEP, LegAnswer, LegLoad, LegOrder};

use super::{each_line, now, say, sleep_until};
use crate::cli::Failure;

/// Bytes of one write or read.
const PIECE: usize = 256 << 10;
/// How long a socket may wait before the clock is looked at.
const GLANCE: Duration = Duration::from_millis(50);
/// How long somebody who connected has to say the token.
const TOKEN: Duration = Duration::from_secs(2);
/// What the server says to who knows it.
const WELCOME: u8 = b'+';

/// Does what the first line of standard input orders.
pub(super) fn leg() -> Result<(), Failure> {
    let orders = orders();
    let answer = match orders.recv_timeout(LEG_STEP) {
        Ok(LegOrder::Way { server }) => way(&server),
        Ok(LegOrder::Serve { addresses, clients, token, flow }) => {
            serve(&orders, &addresses, &clients, (&token, flow))
        }
        Ok(LegOrder::Use { server, token, flow }) => connect(&orders, server, (&token, flow)),
        Ok(LegOrder::Start { .. }) | Err(_) => Err("there is no order".to_owned()),
    };
    say(&answer.unwrap_or_else(LegAnswer::Refused))
}

/// The orders of standard input. The channel closes with it, which is when the controller or the connection ends.
fn orders() -> Receiver<LegOrder> {
    let (tell, orders) = channel();
    let hand_on = move |line: &[u8]| serde_json::from_slice(line).is_ok_and(|order| tell.send(order).is_ok());
    thread::spawn(move || each_line(1 << 20, hand_on));
    orders
}

/// By which address a server is reached, and from which: a socket that is connected and sends nothing tells.
fn way(server: &str) -> Result<LegAnswer, String> {
    let failed = |error: io::Error| format!("cannot tell the way to {server}: {error}");
    let found = server.to_socket_addrs().or_else(|_| {
        let name = server.trim_start_matches('[').trim_end_matches(']');
        (name, 9).to_socket_addrs()
    });
    let address = found.map_err(failed)?.next().ok_or_else(|| format!("{server} has no address"))?;
    let any: SocketAddr = if address.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0u16; 8], 0).into() };
    let socket = UdpSocket::bind(any).map_err(failed)?;
    socket.connect((address.ip(), 9)).map_err(failed)?;
    let own = socket.local_addr().map_err(failed)?.ip();
    Ok(LegAnswer::Way { server: address.ip(), own })
}

/// Opens the port, takes the listed clients until the leg begins, and closes it then; it is closed at the deadline in any case.
fn serve(
    orders: &Receiver<LegOrder>,
    addresses: &BTreeSet<IpAddr>,
    clients: &BTreeSet<IpAddr>,
    (token, flow): (&str, LegLoad),
) -> Result<LegAnswer, String> {
    let opened = addresses.iter().find_map(|address| TcpListener::bind((*address, 0)).ok());
    let listener = opened.ok_or("none of the storage addresses is this host's")?;
    let port = listener.local_addr().map_err(|error| error.to_string())?;
    listener.set_nonblocking(true).map_err(|error| error.to_string())?;
    say(&LegAnswer::Listening(port)).map_err(|failure| failure.message)?;
    let deadline = Instant::now() + Duration::from_nanos(flow.patience_ns);
    let (tell, taken) = channel();
    let most = clients.len().saturating_mul(flow.streams.max(1)).saturating_mul(2);
    let mut asked = 0;
    let start = loop {
        match orders.recv_timeout(Duration::from_millis(5)) {
            Ok(LegOrder::Start { at_ns }) => break at_ns,
            Ok(_) | Err(RecvTimeoutError::Disconnected) => return Err("the leg was ended".to_owned()),
            Err(RecvTimeoutError::Timeout) if Instant::now() > deadline => {
                return Err("the leg did not begin in time".to_owned());
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        while let Ok((stream, peer)) = listener.accept() {
            // Who is not listed, and who comes too often, is not talked to.
            if !clients.contains(&peer.ip().to_canonical()) || asked >= most {
                continue;
            }
            asked += 1;
            let (tell, token) = (tell.clone(), token.to_owned());
            thread::spawn(move || {
                if let Some(stream) = welcomed(stream, &token) {
                    let _ = tell.send((peer.ip().to_canonical(), stream));
                }
            });
        }
    };
    drop(listener);
    drop(tell);
    // Those who are still being asked for their token come too late.
    let streams: Vec<(IpAddr, TcpStream)> = taken.try_iter().collect();
    Ok(LegAnswer::Received(moved(orders, streams, !flow.is_write, (flow, start))))
}

/// Whether somebody says the token; then they are told that they are welcome.
fn welcomed(mut stream: TcpStream, token: &str) -> Option<TcpStream> {
    stream.set_nonblocking(false).ok()?;
    stream.set_read_timeout(Some(TOKEN)).ok()?;
    let mut told = vec![0; token.len()];
    stream.read_exact(&mut told).ok()?;
    // Every byte is looked at, whatever the first ones are.
    let differs = told.iter().zip(token.as_bytes()).fold(0, |all, (one, other)| all | (one ^ other));
    if differs != 0 || token.is_empty() {
        return None;
    }
    stream.write_all(&[WELCOME]).ok()?;
    Some(stream)
}

/// Connects, says the token, and moves bytes when it is told to.
fn connect(
    orders: &Receiver<LegOrder>,
    server: SocketAddr,
    (token, flow): (&str, LegLoad),
) -> Result<LegAnswer, String> {
    let failed = |error: io::Error| format!("cannot connect to {server}: {error}");
    let mut streams = Vec::new();
    for _ in 0..flow.streams.max(1) {
        let mut stream = TcpStream::connect_timeout(&server, TOKEN).map_err(failed)?;
        stream.set_read_timeout(Some(TOKEN)).map_err(failed)?;
        stream.write_all(token.as_bytes()).map_err(failed)?;
        let mut word = [0];
        stream.read_exact(&mut word).map_err(failed)?;
        streams.push((server.ip(), stream));
    }
    say(&LegAnswer::Connected).map_err(|failure| failure.message)?;
    match orders.recv_timeout(Duration::from_nanos(flow.patience_ns)) {
        Ok(LegOrder::Start { at_ns }) => {
            Ok(LegAnswer::Received(moved(orders, streams, flow.is_write, (flow, at_ns))))
        }
        _ => Err("the leg did not begin".to_owned()),
    }
}

/// Sends or receives on all connections from the start until the time is over; what came in by the other side's address.
fn moved(
    orders: &Receiver<LegOrder>,
    streams: Vec<(IpAddr, TcpStream)>,
    sends: bool,
    (flow, start): (LegLoad, u64),
) -> BTreeMap<IpAddr, u64> {
    let end = start.saturating_add(flow.time_ns);
    let (tell, done) = channel();
    let handles: Vec<TcpStream> = streams.iter().filter_map(|(_, stream)| stream.try_clone().ok()).collect();
    let peers: Vec<IpAddr> = streams.iter().map(|(peer, _)| *peer).collect();
    for (peer, stream) in streams {
        let tell = tell.clone();
        let of_peer = peers.iter().filter(|other| **other == peer).count() as u64;
        let share = flow.cap.map(|cap| (cap / of_peer).max(1));
        thread::spawn(move || {
            let bytes = if sends { send(stream, (start, end), share) } else { receive(stream, (start, end)) };
            let _ = tell.send((peer, bytes));
        });
    }
    drop(tell);
    let mut sum: BTreeMap<IpAddr, u64> = BTreeMap::new();
    loop {
        match done.recv_timeout(GLANCE) {
            Ok((peer, bytes)) => *sum.entry(peer).or_default() += bytes,
            Err(RecvTimeoutError::Disconnected) => return sum,
            Err(RecvTimeoutError::Timeout) => {
                let is_ended = matches!(orders.try_recv(), Err(TryRecvError::Disconnected));
                if is_ended || now() > end.saturating_add(1_000_000_000) {
                    for stream in &handles {
                        let _ = stream.shutdown(Shutdown::Both);
                    }
                    return sum;
                }
            }
        }
    }
}

/// Sends until the time is over; nothing is counted here, since what is sent has not come in.
fn send(mut stream: TcpStream, (start, end): (u64, u64), cap: Option<u64>) -> u64 {
    // Bytes that nothing on the way makes smaller.
    let mut piece = vec![0; PIECE];
    let _ = getrandom::fill(&mut piece);
    // A piece of a capped one is a fiftieth of a second.
    let length = cap.map_or(PIECE, |cap| usize::try_from(cap / 50).unwrap_or(PIECE).clamp(1, PIECE));
    let _ = stream.set_write_timeout(Some(GLANCE));
    sleep_until(start);
    let mut sent = 0_u64;
    while now() < end {
        if let Some(cap) = cap {
            let due = start.saturating_add((sent as f64 * 1e9 / cap as f64) as u64);
            sleep_until(due.min(end));
        }
        match stream.write(piece.get(..length).unwrap_or_default()) {
            Ok(0) => break,
            Ok(count) => sent += count as u64,
            Err(error) if is_late(&error) => {}
            Err(_) => break,
        }
    }
    let _ = stream.shutdown(Shutdown::Write);
    0
}

/// Counts what comes in within the time.
fn receive(mut stream: TcpStream, (start, end): (u64, u64)) -> u64 {
    let mut piece = vec![0; PIECE];
    let _ = stream.set_read_timeout(Some(GLANCE));
    let mut sum = 0;
    while now() < end {
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(count) if now() >= start => sum += count as u64,
            Ok(_) => {}
            Err(error) if is_late(&error) => {}
            Err(_) => break,
        }
    }
    let _ = stream.shutdown(Shutdown::Both);
    sum
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_an_address_is_told_without_a_packet() {
        for server in ["127.0.0.1:2049", "127.0.0.1", "[::1]:9"] {
            match way(server) {
                Ok(LegAnswer::Way { server, own }) => assert_eq!(server, own),
                // A machine without IPv6.
                other => assert!(server.starts_with('['), "{server}: {other:?}"),
            }
        }
        assert!(way("no.such.host.invalid").is_err());
    }
}
