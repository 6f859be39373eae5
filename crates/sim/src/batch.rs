//! What has come to a link's inbox, taken in together: one loop, of which the discipline's own type
//! is part.

use crate::flow::Flow;
use crate::network::Network;
use crate::packet::Pkt;
use crate::sched::{Event, Present};
use penstock_queue::{Arriving, Fate, Link, Served, Source};
use penstock_units::Time;

impl Network {
    /// A link takes in what goes before `bound`. An eager one sends what is due before it.
    #[inline(never)]
    pub(crate) fn take_in_until(&mut self, bound: &Event, link: u32, flows: &mut [Flow]) {
        debug_assert!(self.capture.is_none(), "with a capture nothing waits in an inbox");
        let mut links = std::mem::take(&mut self.links);
        let service = self.inboxes[link as usize].service();
        let (due, asked) = (service.time(), service.cause());
        let (before, rest) = links.split_at_mut(link as usize);
        let (own, behind) = rest.split_first_mut().expect("the link's number");
        let (at, index, p, began) = (Time::ZERO, 0, Pkt::BLANK, self.sched.present());
        let bound = *bound;
        let batch = Batch {
            net: self,
            flows,
            link,
            before,
            behind,
            bound,
            at,
            index,
            p,
            began,
            due,
            asked,
        };
        let (Batch { due, asked, .. }, _) = own.stretch(batch, due);
        let inbox = &mut self.inboxes[link as usize];
        if inbox.eager {
            inbox.serve(Event::departure(due, asked));
        }
        self.links = links;
    }
}

/// The arrivals of a link, and what comes of them in the network.
struct Batch<'a> {
    /// Without its links.
    net: &'a mut Network,
    flows: &'a mut [Flow],
    link: u32,
    /// The links before it, and those behind it, in the network's order.
    before: &'a [Link],
    behind: &'a [Link],
    bound: Event,
    /// When the packet comes that is taken in, its place in the pool, and the packet.
    at: Time,
    index: u32,
    p: Pkt,
    /// Its place among all that happens: what comes of it is scheduled there, behind the turns
    /// before it.
    began: Present,
    /// When an eager link is to be served; [`Time::NEVER`]: not at all. The inbox is told at the
    /// end.
    due: Time,
    /// What asked for that.
    asked: Present,
}

impl Batch<'_> {
    /// Another link.
    fn other(&self, link: u32) -> &Link {
        match link.checked_sub(self.link + 1) {
            Some(behind) => &self.behind[behind as usize],
            None => &self.before[link as usize],
        }
    }
}

impl Source for Batch<'_> {
    #[inline(always)]
    fn next(&mut self) -> bool {
        let Some(event) = self.net.next_arrival(&self.bound, self.link, self.flows) else {
            return false;
        };
        self.began = self.net.sched.present();
        self.at = event.time();
        self.index = event.what().index() as u32;
        self.p = self.net.packets.items[self.index as usize];
        true
    }

    #[inline(always)]
    fn packet(&self) -> Arriving {
        crate::way::arriving(self.at, self.index, &self.p)
    }

    #[cold]
    fn scheduled(&self) -> Time {
        let p = &self.p;
        let crossing = match p.hop.checked_sub(1) {
            None => self.net.up_crossing(p, self.flows),
            Some(last) => self.other(self.net.routes.at(p.route, last)).crossing(p.bytes),
        };
        self.at.before(crossing)
    }

    #[inline(always)]
    fn became(&mut self, fate: Fate) {
        match fate {
            Fate::Through(at, ecn) => {
                let p = self.p.carrying(ecn);
                self.net.leave(self.at, at, self.link, self.index, p, self.flows);
            }
            Fate::Dropped => self.net.discard(self.index),
            Fate::Held(Some(at)) => {
                self.net.sched.go_back(self.began);
                (self.due, self.asked) = (at, self.began);
            }
            Fate::Held(None) => {}
        }
    }

    #[inline(always)]
    fn turn(&mut self, served: Served) {
        let now = self.due;
        self.net.events += 1;
        self.net.sched.begin_departure(now, self.asked);
        (self.due, self.asked) = (served.again, self.net.sched.present());
        self.net.sent(now, self.link, served.sent, self.flows);
    }

    fn gave_up(&mut self, index: u32) {
        self.net.give_up(index);
    }

    #[inline]
    fn until(&self) -> Time {
        self.bound.end_of_departures()
    }
}
