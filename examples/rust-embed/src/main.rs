//! RED in an event loop that is not Penstock's: packets arrive by chance, a link sends one after
//! the other, and the discipline is an object that is asked.
//!
//! The loop owns the clock, the packets and the link. `Red` owns nothing but its average and its
//! count. The same object runs in the simulator and in front of real packets.

use penstock_aqm::{Aqm, Context, Ecn, Packet, Queue, Red, RedParams, Verdict};
use penstock_units::{Duration, QueueLen, Rate, Rng, Time};
use std::collections::VecDeque;

const PACKET: Packet = Packet { bytes: 1000, ecn: Ecn::Ect0, flow: 0, class: 0 };
const BUFFER: u32 = 100;
const PACKETS: u32 = 100_000;

#[derive(Default)]
struct Counts {
    passed: u32,
    marked: u32,
    dropped: u32,
    area: f64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rate = Rate::from_bps(10_000_000).ok_or("a link that is down")?;
    let buffer = QueueLen::Packets(f64::from(BUFFER));
    let link = Context::new(rate, Duration::from_millis(20), buffer);
    let mut params = RedParams::default();
    params.thresholds.min_th = Some(QueueLen::Packets(20.0));
    params.thresholds.max_th = Some(QueueLen::Packets(60.0));
    params.common.ecn = true;
    let mut red = Red::new(&params, &link)?;

    let (mut load, mut dice) = (Rng::stream(1, "load"), Rng::stream(1, "aqm"));
    let sending = f64::from(PACKET.bytes) * 8.0 / rate.as_bps() as f64;
    let mut waiting: VecDeque<Packet> = VecDeque::new();
    let mut seen = Queue { pkts: 0, bytes: 0, idle_since: Some(Time::ZERO) };
    let mut counts = Counts::default();
    let (mut arrives, mut leaves) = (Time::ZERO, None);
    let mut pace = 0.9; // what is sent, as a share of the link's rate: it rises until a signal comes
    for _ in 0..PACKETS {
        // First, everything that leaves until the next packet arrives.
        while let Some(at) = leaves.filter(|at| *at <= arrives) {
            leaves = waiting.pop_front().map(|next| {
                seen.pkts -= 1;
                seen.bytes -= u64::from(next.bytes);
                at + Duration::from_secs_f64(sending)
            });
            seen.idle_since = if leaves.is_none() { Some(at) } else { None };
        }
        counts.area += f64::from(seen.pkts);
        let verdict = red.arrive(arrives, &PACKET, &seen, &mut dice);
        pace = if verdict == Verdict::Pass { pace + 5e-5 } else { pace * 0.97 };
        match verdict {
            Verdict::Drop(_) => counts.dropped += 1,
            _ if seen.pkts == BUFFER => {
                red.overflow(arrives, &PACKET, &seen);
                counts.dropped += 1;
            }
            _ => {
                counts.passed += 1;
                counts.marked += u32::from(matches!(verdict, Verdict::Mark(..)));
                if leaves.is_none() {
                    leaves = Some(arrives + Duration::from_secs_f64(sending));
                    seen.idle_since = None;
                } else {
                    waiting.push_back(PACKET);
                    seen.pkts += 1;
                    seen.bytes += u64::from(PACKET.bytes);
                }
            }
        }
        arrives += Duration::from_secs_f64(load.exponential(sending / pace));
    }
    println!(
        "{} passed, {} of them marked, {} dropped",
        counts.passed, counts.marked, counts.dropped
    );
    println!("{:.1} packets waited on average", counts.area / f64::from(PACKETS));
    Ok(())
}
