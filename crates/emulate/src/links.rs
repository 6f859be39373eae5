//! Interfaces, addresses and routes of the namespace that a thread is in, by netlink.

use netlink_packet_core::{
    NetlinkMessage, NetlinkPayload, NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST,
};
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressMessage, AddressScope};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteMessage, RouteMetric, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{protocols::NETLINK_ROUTE, Socket, SocketAddr};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

/// A netlink socket of the namespace in which it was opened.
pub struct Links(Socket);

impl Links {
    /// Opens a socket in the namespace of this thread.
    pub fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Links(socket))
    }

    fn ask(&self, message: RouteNetlinkMessage, flags: u16, doing: &str) -> io::Result<()> {
        let mut packet = NetlinkMessage::from(message);
        packet.header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        packet.finalize();
        let mut bytes = vec![0; packet.buffer_len()];
        packet.serialize(&mut bytes);
        self.0.send(&bytes, 0)?;
        let (answer, _) = self.0.recv_from_full()?;
        let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer)
            .map_err(io::Error::other)?;
        match answer.payload {
            NetlinkPayload::Error(e) if e.code.is_some() => {
                let e = e.to_io();
                Err(io::Error::new(e.kind(), format!("{doing}: {e}")))
            }
            _ => Ok(()),
        }
    }

    /// Makes two devices that are the ends of one wire: `name` here, `peer` in another namespace.
    pub fn wire(&self, name: &str, peer: &str, there: BorrowedFd<'_>) -> io::Result<()> {
        let mut other = LinkMessage::default();
        other.attributes.push(LinkAttribute::IfName(peer.into()));
        other.attributes.push(LinkAttribute::NetNsFd(there.as_raw_fd()));
        let mut link = LinkMessage::default();
        link.attributes.push(LinkAttribute::IfName(name.into()));
        link.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(other))),
        ]));
        self.ask(
            RouteNetlinkMessage::NewLink(link),
            NLM_F_CREATE | NLM_F_EXCL,
            &format!("making {name}"),
        )
    }

    fn change(
        &self,
        name: &str,
        doing: &str,
        with: impl FnOnce(&mut LinkMessage),
    ) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = crate::sys::interface(name)?;
        with(&mut link);
        self.ask(RouteNetlinkMessage::SetLink(link), 0, &format!("{doing} {name}"))
    }

    /// Brings a device up.
    pub fn up(&self, name: &str) -> io::Result<()> {
        self.change(name, "bringing up", |link| {
            link.header.flags = LinkFlags::Up;
            link.header.change_mask = LinkFlags::Up;
        })
    }

    /// Sets how many packets may wait in a device.
    pub fn queue(&self, name: &str, packets: u32) -> io::Result<()> {
        self.change(name, "setting the queue of", |link| {
            link.attributes.push(LinkAttribute::TxQueueLen(packets));
        })
    }

    /// Gives a device an address.
    pub fn address(&self, name: &str, address: IpAddr, prefix: u8) -> io::Result<()> {
        let mut message = AddressMessage::default();
        message.header.family =
            if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
        message.header.prefix_len = prefix;
        message.header.scope = AddressScope::Universe;
        message.header.index = crate::sys::interface(name)?;
        message.attributes.push(AddressAttribute::Local(address));
        message.attributes.push(AddressAttribute::Address(address));
        if address.is_ipv6() {
            // It is used at once: nobody else can have it.
            message.attributes.push(AddressAttribute::Flags(AddressFlags::Nodad));
        }
        let doing = format!("giving {name} the address {address}");
        self.ask(RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_EXCL, &doing)
    }

    /// Makes connections to this IPv4 address ask for ECN, whatever the sysctl says.
    pub fn ecn_route(&self, name: &str, to: std::net::Ipv4Addr) -> io::Result<()> {
        const RTAX_FEATURE_ECN: u32 = 1;
        let mut message = RouteMessage::default();
        message.header.address_family = AddressFamily::Inet;
        message.header.destination_prefix_length = 32;
        message.header.table = 254; // main
        message.header.protocol = RouteProtocol::Static;
        message.header.scope = RouteScope::Link;
        message.header.kind = RouteType::Unicast;
        message.attributes.push(RouteAttribute::Destination(RouteAddress::Inet(to)));
        message.attributes.push(RouteAttribute::Oif(crate::sys::interface(name)?));
        message
            .attributes
            .push(RouteAttribute::Metrics(vec![RouteMetric::Features(RTAX_FEATURE_ECN)]));
        let doing = format!("a route to {to} with ECN");
        self.ask(RouteNetlinkMessage::NewRoute(message), NLM_F_CREATE, &doing)
    }
}
