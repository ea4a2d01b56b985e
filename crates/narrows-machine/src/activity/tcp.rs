//! TCP connections of storage protocols, through netlink `sock_diag` (`sock_diag(7)`, kernel
//! `include/uapi/linux/{netlink,sock_diag,inet_diag,tcp}.h`).
//!
//! A smoothed round-trip time under load far above the least one seen proves that a queue of the network is full, when
//! nearly every segment took so long: [`TcpState::round_trip_of_most`]. Where data is read it has to queue on its way to
//! us, which [`TcpState::data_round_trip`] tells.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::block::transport::fabric_option;
use crate::bytes::{array, long, put, short, wide};
use crate::kernel;
use crate::mount;
use crate::root::Root;
use narrows_base::units::{Bytes, Nanos};

/// The numbers of both families of addresses (`include/linux/socket.h`).
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;

/// What TCP knows of a connection (kernel `include/uapi/linux/tcp.h`, `struct tcp_info`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpState {
    /// Smoothed round-trip time, `tcpi_rtt`.
    pub round_trip: Nanos,
    /// Its mean deviation, `tcpi_rttvar`.
    pub deviation: Nanos,
    /// The least round-trip time seen, `tcpi_min_rtt`.
    pub least_round_trip: Nanos,
    /// From an acknowledgement of ours to data that was sent after it, `tcpi_rcv_rtt`: data that queues on its way is late,
    /// however late the far end acknowledges. Not below 1 ms in many kernels, which stamp in milliseconds; unknown before
    /// data came, and without timestamps (RFC 7323), where the kernel takes the time of a whole window for it.
    pub data_round_trip: Option<Nanos>,
    /// Segments sent again so far, `tcpi_total_retrans`.
    pub retransmitted: u64,
    /// Bytes received, `tcpi_bytes_received`.
    pub received: Bytes,
}

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// `NLM_F_REQUEST | NLM_F_DUMP`: all that match, not one.
const DUMP: u16 = 0x1 | 0x300;
const IPPROTO_TCP: u8 = 6;
const TCP_ESTABLISHED: u32 = 1;
/// The attribute that holds `struct tcp_info`.
const INET_DIAG_INFO: u16 = 2;
/// `TCPI_OPT_TIMESTAMPS` of `tcpi_options`.
const TIMESTAMPS: u8 = 1;

/// The length of `struct nlmsghdr`, of `struct inet_diag_msg` and of `struct rtattr`.
const HEADER: usize = 16;
const MESSAGE: usize = 72;
const ATTRIBUTE: usize = 4;

/// Connections to storage servers, by remote `address:port`. Several to one port, as with NVMe/TCP queues and
/// `nconnect`, are one entry with the round trip that shows most of a queue, the least of the least, and the sums. A
/// machine that uses no storage over TCP is not asked at all: a busy server may have many thousand connections.
pub fn connections(root: &Root) -> BTreeMap<String, TcpState> {
    let ports = if root.is_live() { storage_ports(root) } else { BTreeSet::new() };
    let mut found = BTreeMap::new();
    if !ports.is_empty() {
        answers().for_each(|answer| collect(&answer, &ports, &mut found));
    }
    found
}

/// The ports of the servers that this machine has storage from.
pub fn storage_ports(root: &Root) -> BTreeSet<u16> {
    let nvme = root.list("/sys/class/nvme").into_iter().filter_map(|name| {
        let address = root.text(&format!("/sys/class/nvme/{name}/address")).get()?;
        fabric_option(&address, "trsvcid")?.parse().ok()
    });
    let iscsi = root.list("/sys/class/iscsi_connection").into_iter();
    let iscsi = iscsi.filter_map(|name| {
        root.parse(&format!("/sys/class/iscsi_connection/{name}/port"), |text| text.parse().ok()).get()
    });
    let mounts = root.text("/proc/self/mountinfo").get().unwrap_or_default();
    nvme.chain(iscsi).chain(mount::parse(&mounts).iter().filter_map(mount::Mount::server_port)).collect()
}

/// What the kernel tells of the connections of both families.
fn answers() -> impl Iterator<Item = Vec<u8>> {
    let is_end = |part: &[u8]| messages(part).any(|(kind, _)| matches!(kind, NLMSG_DONE | NLMSG_ERROR));
    [AF_INET, AF_INET6].into_iter().flat_map(move |family| kernel::diagnosed(&request(family), is_end))
}

/// `struct nlmsghdr` and `struct inet_diag_req_v2`, whose socket id stays zero: any.
fn request(family: u8) -> [u8; HEADER + 56] {
    let mut request = [0; HEADER + 56];
    let length = (HEADER + 56) as u32;
    let extension = 1u8 << (INET_DIAG_INFO - 1);
    let states = 1u32 << TCP_ESTABLISHED;
    let fields: [(usize, &[u8]); 5] = [
        (0, &length.to_ne_bytes()),
        (4, &SOCK_DIAG_BY_FAMILY.to_ne_bytes()),
        (6, &DUMP.to_ne_bytes()),
        (16, &[family, IPPROTO_TCP, extension]),
        (20, &states.to_ne_bytes()),
    ];
    fields.into_iter().for_each(|(at, bytes)| put(&mut request, at, bytes));
    request
}

/// The netlink messages in an answer, by type, without their headers.
fn messages(answer: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    records(answer, HEADER, |record| Some((usize::try_from(long(record, 0)?).ok()?, short(record, 4)?)))
}

/// The attributes of a message, by type.
fn attributes(message: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    records(message, ATTRIBUTE, |record| Some((usize::from(short(record, 0)?), short(record, 2)?)))
}

/// Records that start with a header of `header` bytes, from which `read` tells length and type; each starts at a
/// multiple of four. Ends at the first that does not fit.
fn records(
    bytes: &[u8],
    header: usize,
    read: impl Fn(&[u8]) -> Option<(usize, u16)>,
) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (length, kind) = read(rest)?;
        let content = rest.get(header..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, content))
    })
}

/// A `struct inet_diag_msg` with its attributes for each connection.
fn connections_in(answer: &[u8]) -> impl Iterator<Item = &[u8]> {
    messages(answer).filter(|(kind, _)| *kind == SOCK_DIAG_BY_FAMILY).map(|(_, message)| message)
}

fn collect(answer: &[u8], ports: &BTreeSet<u16>, found: &mut BTreeMap<String, TcpState>) {
    let states =
        connections_in(answer).filter_map(|message| Some((remote(message)?, state(info(message)?)?)));
    for (remote, state) in states.filter(|(remote, _)| ports.contains(&remote.port())) {
        found.entry(remote.to_string()).and_modify(|known| *known = known.with(state)).or_insert(state);
    }
}

impl TcpState {
    /// What nearly every segment took: the smoothed round trip less twice its mean deviation.
    ///
    /// A queue delays every segment. A server that has no data to send back yet delays some acknowledgements (RFC 9293
    /// 3.8.6.3; by 40 ms and more in Linux, `TCP_DELACK_MIN`), and so makes the mean long without any queue. Of a part q
    /// of segments that take T and others that take nothing, the mean is qT and the mean deviation 2q(1 − q)T: this is
    /// zero up to q = 3/4.
    pub fn round_trip_of_most(&self) -> Nanos {
        Nanos::new(self.round_trip.get().saturating_sub(self.deviation.get().saturating_mul(2)))
    }

    /// Of two states of one connection, or of two connections to one server, that which shows more of a queue.
    #[must_use]
    pub fn more_queued(self, other: Self) -> Self {
        let queued = |state: &Self| (state.round_trip_of_most(), state.round_trip);
        if queued(&other) > queued(&self) { other } else { self }
    }

    /// One connection looked at several times: the look that shows most of a queue, with the median of the data's round
    /// trips, as one burst of data that follows a pause is late without any queue.
    pub fn of_looks(looks: &[Self]) -> Option<Self> {
        let most_queued = looks.iter().copied().reduce(Self::more_queued)?;
        let mut data: Vec<Nanos> = looks.iter().filter_map(|look| look.data_round_trip).collect();
        data.sort_unstable();
        Some(Self { data_round_trip: data.get(data.len() / 2).copied(), ..most_queued })
    }

    /// Two connections to one server as one.
    fn with(self, other: Self) -> Self {
        let queued = self.more_queued(other);
        Self {
            round_trip: queued.round_trip,
            deviation: queued.deviation,
            least_round_trip: self.least_round_trip.min(other.least_round_trip),
            data_round_trip: queued.data_round_trip,
            retransmitted: self.retransmitted.saturating_add(other.retransmitted),
            received: self.received + other.received,
        }
    }
}

fn local(message: &[u8]) -> Option<SocketAddr> {
    end(message, 4, 8)
}

fn remote(message: &[u8]) -> Option<SocketAddr> {
    end(message, 6, 24)
}

/// One end of a connection. Its port and address are in network order, all else is in native order.
fn end(message: &[u8], port_at: usize, address_at: usize) -> Option<SocketAddr> {
    let port = u16::from_be_bytes(array(message, port_at)?);
    let address = match *message.first()? {
        AF_INET => IpAddr::V4(Ipv4Addr::from(array::<4>(message, address_at)?)),
        AF_INET6 => IpAddr::V6(Ipv6Addr::from(array::<16>(message, address_at)?)).to_canonical(),
        _ => return None,
    };
    Some(SocketAddr::new(address, port))
}

/// The `struct tcp_info` of a connection.
fn info(message: &[u8]) -> Option<&[u8]> {
    attributes(message.get(MESSAGE..)?).find(|(kind, _)| *kind == INET_DIAG_INFO).map(|(_, info)| info)
}

/// The fields of `struct tcp_info` that we need. Round trips are in microseconds; a kernel that has seen none says
/// `~0` for the least one.
fn state(info: &[u8]) -> Option<TcpState> {
    let micros = |at: usize| Some(Nanos::new(u64::from(long(info, at)?).saturating_mul(1000)));
    let round_trip = micros(68)?;
    let least = micros(148).filter(|_| long(info, 148) != Some(u32::MAX));
    let is_stamped = info.get(5)? & TIMESTAMPS != 0;
    Some(TcpState {
        round_trip,
        deviation: micros(72)?,
        least_round_trip: least.unwrap_or(round_trip),
        data_round_trip: micros(92).filter(|time| is_stamped && time.get() > 0),
        retransmitted: u64::from(long(info, 100)?),
        received: Bytes::new(wide(info, 128)?),
    })
}

/// One connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// Our end.
    pub local: SocketAddr,
    /// The other.
    pub remote: SocketAddr,
    /// Smoothed round-trip time, `tcpi_rtt`.
    pub round_trip: Nanos,
    /// The least one seen, `tcpi_min_rtt`.
    pub least_round_trip: Nanos,
    /// Time with data on its way, `tcpi_busy_time`.
    pub busy: Nanos,
    /// Of that, time in which the window of the receiver was the limit, `tcpi_rwnd_limited`.
    pub window_limited: Nanos,
    /// Bytes that were sent and acknowledged, `tcpi_bytes_acked`.
    pub sent: Bytes,
    /// Bytes received, `tcpi_bytes_received`.
    pub received: Bytes,
    /// Segments sent again, `tcpi_total_retrans`.
    pub retransmitted: u64,
}

/// The established connections of this machine of which either end has one of these ports.
pub fn flows(ports: &BTreeSet<u16>) -> Vec<Flow> {
    if ports.is_empty() {
        return Vec::new();
    }
    answers().flat_map(|answer| collect_flows(&answer, ports)).collect()
}

fn collect_flows(answer: &[u8], ports: &BTreeSet<u16>) -> Vec<Flow> {
    let is_asked = |flow: &Flow| ports.contains(&flow.local.port()) || ports.contains(&flow.remote.port());
    connections_in(answer).filter_map(flow).filter(is_asked).collect()
}

fn flow(message: &[u8]) -> Option<Flow> {
    let info = info(message)?;
    let known = state(info)?;
    // Times in microseconds; Linux has them since 4.10, and older ones answer with less.
    let micros = |at: usize| Some(Nanos::new(wide(info, at)?.saturating_mul(1000)));
    Some(Flow {
        local: local(message)?,
        remote: remote(message)?,
        round_trip: known.round_trip,
        least_round_trip: known.least_round_trip,
        busy: micros(168)?,
        window_limited: micros(176)?,
        sent: Bytes::new(wide(info, 120)?),
        received: known.received,
        retransmitted: known.retransmitted,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;
    use proptest::prelude::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn the_kernel_tells_of_a_connection_that_we_made() {
        let server = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = server.local_addr().expect("is bound").port();
        let mut client = TcpStream::connect(("127.0.0.1", port)).expect("listens");
        let (mut peer, _) = server.accept().expect("was called");
        peer.write_all(&[7; 1000]).expect("is connected");
        client.read_exact(&mut [0; 1000]).expect("is connected");

        let mut found = BTreeMap::new();
        answers().for_each(|answer| collect(&answer, &BTreeSet::from([port]), &mut found));
        if found.is_empty() && answers().next().is_none() {
            println!("skipped: this kernel or container has no sock_diag");
            return;
        }
        let state = found[&format!("127.0.0.1:{port}")];
        assert_eq!(state.received, Bytes::new(1000));
        assert!(state.round_trip.get() > 0 && state.least_round_trip <= state.round_trip);
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn ports_are_those_of_the_servers_in_use() {
        let mut tree = Tree::new();
        tree.file("/sys/class/nvme/nvme0/address", "0000:03:00.0")
            .file("/sys/class/nvme/nvme1/address", "traddr=10.0.0.1,trsvcid=4421")
            .file("/sys/class/iscsi_connection/connection1:0/port", "3260")
            .file(
                "/proc/self/mountinfo",
                "1 1 0:9 / /d rw - nfs4 nas:/e rw,addr=10.0.0.2\n2 1 8:1 / / rw - ext4 /dev/sda1 rw",
            );
        assert_eq!(storage_ports(&Root::from_tree(tree)), BTreeSet::from([2049, 3260, 4421]));
        assert!(storage_ports(&Root::from_tree(Tree::new())).is_empty());
    }

    #[test]
    fn several_connections_to_one_server_are_one() {
        let state = |round_trip, least, retransmitted| TcpState {
            round_trip: Nanos::new(round_trip),
            deviation: Nanos::new(100),
            least_round_trip: Nanos::new(least),
            data_round_trip: Some(Nanos::new(least)),
            retransmitted,
            received: Bytes::new(10),
        };
        let both = state(900, 90, 1).with(state(500, 50, 2));
        let data_round_trip = Some(Nanos::new(90));
        assert_eq!(both, TcpState { received: Bytes::new(20), data_round_trip, ..state(900, 50, 3) });
    }

    #[test]
    fn late_acknowledgements_of_some_segments_are_no_queue() {
        let state = |round_trip, deviation| TcpState {
            round_trip: Nanos::from_millis(round_trip),
            deviation: Nanos::from_millis(deviation),
            ..TcpState::default()
        };
        let (late, queued) = (state(17, 14), state(9, 2));
        assert_eq!(late.round_trip_of_most(), Nanos::new(0));
        assert_eq!(queued.round_trip_of_most(), Nanos::from_millis(5));
        assert_eq!(late.more_queued(queued), queued);
        assert_eq!(queued.more_queued(late), queued);
    }

    #[test]
    fn looks_at_one_connection_keep_the_most_of_a_queue_and_the_middle_of_the_data() {
        let look = |round_trip, data: Option<u64>| TcpState {
            round_trip: Nanos::from_millis(round_trip),
            data_round_trip: data.map(Nanos::from_millis),
            ..TcpState::default()
        };
        let looks = [look(4, Some(1)), look(9, Some(50)), look(5, Some(1)), look(2, None)];
        assert_eq!(TcpState::of_looks(&looks), Some(look(9, Some(1))));
        assert_eq!(TcpState::of_looks(&[look(4, None)]), Some(look(4, None)));
        assert_eq!(TcpState::of_looks(&[]), None);
    }

    #[test]
    fn the_round_trip_of_data_is_known_where_segments_are_stamped() {
        let data = |options: u8, micros: u32| {
            let mut info = vec![0; 160];
            info[5] = options;
            info[92..96].copy_from_slice(&micros.to_ne_bytes());
            state(&info).expect("is long enough").data_round_trip
        };
        assert_eq!(data(TIMESTAMPS | 2, 3000), Some(Nanos::from_millis(3)));
        assert_eq!(data(TIMESTAMPS, 0), None, "no data came yet");
        assert_eq!(data(2, 3000), None, "the time of a whole window");
    }

    #[test]
    fn a_least_round_trip_that_was_never_seen_is_the_present_one() {
        let mut info = vec![0; 160];
        info[68..72].copy_from_slice(&250u32.to_ne_bytes());
        info[72..76].copy_from_slice(&20u32.to_ne_bytes());
        info[148..152].copy_from_slice(&u32::MAX.to_ne_bytes());
        let state = state(&info).expect("is long enough");
        assert_eq!((state.round_trip, state.least_round_trip), (Nanos::new(250_000), Nanos::new(250_000)));
        assert_eq!(state.deviation, Nanos::new(20_000));
    }

    proptest! {
        #[test]
        fn no_answer_panics(bytes in proptest::collection::vec(any::<u8>(), 0..400), length in 0u32..500) {
            let mut found = BTreeMap::new();
            collect(&bytes, &BTreeSet::from([0]), &mut found);
            let mut framed = length.to_ne_bytes().to_vec();
            framed.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
            framed.extend([0; 10]);
            framed.extend(bytes);
            collect(&framed, &BTreeSet::from([0]), &mut found);
        }
    }

    #[test]
    fn both_ends_of_a_connection_on_this_machine_are_seen() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("has one").port();
        let mut client = TcpStream::connect(("127.0.0.1", port)).expect("connects");
        let (mut server, _) = listener.accept().expect("accepts");
        server.write_all(&[7; 1000]).expect("sends");
        client.read_exact(&mut [0; 1000]).expect("reads");
        let look = || {
            let found = flows(&BTreeSet::from([port]));
            assert_eq!(found.len(), 2, "{found:?}");
            found
        };
        // What was read may be acknowledged some milliseconds later.
        let mut found = look();
        while found.iter().all(|flow| flow.sent.get() < 1000) {
            found = look();
        }
        let sender = found.iter().find(|flow| flow.local.port() == port).expect("the server's end");
        assert_eq!(sender.remote.port(), client.local_addr().expect("has one").port());
        assert_eq!(sender.sent.get() / 100, 10, "{sender:?}");
        let receiver = found.iter().find(|flow| flow.remote.port() == port).expect("the client's end");
        assert_eq!((receiver.received, receiver.busy), (Bytes::new(1000), Nanos::new(0)));
        assert!(flows(&BTreeSet::new()).is_empty());
    }

    proptest! {
        #[test]
        fn no_answer_of_flows_panics(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = (collect_flows(&bytes, &BTreeSet::from([0])), flow(&bytes));
        }
    }
}
