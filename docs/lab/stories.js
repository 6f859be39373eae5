// What the lab opens on, and its stories. A story is a scenario, disciplines, and steps. A step says
// something and waits: until `when` holds of the lanes' snapshots; or, where it asks for something,
// until the visitor has done that, with the button of `press` or by hand, which shows in `when` or
// in the first key that `press` sets. `say` gets the lanes' snapshots as the step begins, and those
// of the steps before it.
"use strict";

const ms = (seconds) =>
  `${seconds < 0.01 ? (seconds * 1e3).toFixed(1) : Math.round(seconds * 1e3)} ms`;
const Mbit = (rate) => `${(rate / 1e6).toFixed(rate < 1e6 ? 2 : 1)} Mbit/s`;

/** A download and a call share a link. */
const HOME = (start) => `name = "download and call"
duration = "3600 s"
seed = 1

[topology]
kind = "dumbbell"
bottleneck = { rate = "5 Mbit/s", delay = "20 ms", buffer = "200 packets" }

[aqm]
kind = "droptail"
mean_packet = "1500 B"

[[traffic]]
name = "download"
kind = "ftp"
flows = 2
tcp = "cubic"
segment = "1448 B"
start = "${start}"

[[traffic]]
name = "call"
kind = "voip"
`;

/** Long transfers with ECN under RED. */
const MANY = (flows, red) => `name = "many flows"
duration = "3600 s"
seed = 1

[topology]
kind = "dumbbell"
bottleneck = { rate = "10 Mbit/s", delay = "20 ms", buffer = "100 packets" }
access = { rate = "100 Mbit/s", delay = { uniform = ["1 ms", "10 ms"] } }

[aqm]
kind = "red"
${red}

[[traffic]]
kind = "ftp"
flows = ${flows}
start = { uniform = ["0 s", "1 s"] }
tcp = "reno"
ecn = "classic"
window = 100
`;

/** Two senders that differ. */
const PAIR = (link, aqm, [one, other]) => `name = "${one} and ${other}"
duration = "3600 s"
seed = 1
profile = "linux"

[topology]
kind = "dumbbell"
bottleneck = ${link}

[aqm]
kind = "droptail"
${aqm}

[[traffic]]
name = "${one}"
kind = "ftp"
tcp = "${one}"

[[traffic]]
name = "${other}"
kind = "ftp"
tcp = "${other}"
`;

const START = HOME("2 s");

const STORIES = [
  {
    title: "Bufferbloat",
    toml: HOME("6 s"),
    steps: [
      {
        say: () =>
          "A call is alone on a link of 5 Mbit/s. Its packets find the queue empty, and wait for nothing. In a moment two downloads start.",
        when: (a) => a.now > 6.2,
      },
      {
        say: () =>
          "The downloads send faster and faster, until a packet is lost. None is lost before the buffer is full. Watch it fill.",
        when: (a) => a.queue > 0.9 * a.room,
      },
      {
        say: (a) =>
          `The buffer is full. Whoever sends through it waits about ${ms(a.delay)}, the call too; the way there and back takes ${ms(a.rtt)}. Would more room help?`,
        press: { label: "Double the buffer", set: [["topology.bottleneck.buffer", "400 packets"]] },
      },
      {
        say: () =>
          "Nothing is lost now, so the downloads send more, and the new room fills as the old one did.",
        when: (a) => a.delay > 0.75,
      },
      {
        say: (a, b, seen) =>
          `The wait has grown from ${ms(seen[2][0].delay)} to ${ms(a.delay)}. The link carries ${Mbit(a.rate)}, and carried ${Mbit(seen[2][0].rate)} before: it was full all the time. More room made nothing faster, and the call useless. This is bufferbloat.`,
      },
    ],
  },
  {
    title: "The same with CoDel",
    toml: HOME("0 s"),
    steps: [
      {
        say: () => "The same link, the same downloads, the same call. The buffer fills.",
        when: (a) => a.delay > 0.35,
      },
      {
        say: (a) =>
          `Everybody waits ${ms(a.delay)}. CoDel looks at how long packets wait, not at how many there are. It drops one when the wait has been above 5 ms for 100 ms.`,
        press: { label: "Turn CoDel on", set: [["aqm.kind", "codel"]] },
      },
      {
        say: () =>
          "What waited before is sent. From now on a drop comes early, while the queue is short, and the senders slow down before it is long.",
        when: (a) => a.delay < 0.03 && a.queue < 40,
      },
      {
        say: (a, b, seen) =>
          `The wait fell from ${ms(seen[1][0].delay)} to ${ms(a.delay)}. The link carries ${Mbit(a.rate)} of ${Mbit(a.link)}: it is as full as before. The long queue was good for nothing. Drag CoDel's target in the picture to see what it costs to ask for less.`,
      },
    ],
  },
  {
    title: "RED set too low",
    toml: MANY(4, "min_th = 1\nmax_th = 3\nmax_p = 0.5\nw_q = 0.02\necn = true"),
    steps: [
      {
        say: () =>
          "Four downloads under RED. It marks packets from an average queue of one packet on, and every one from six on. The queue is short. What is wrong?",
        when: (a) => a.now > 6 && a.share < 0.9,
      },
      {
        say: (a) =>
          `The link. It could carry ${Mbit(a.link)} and carries ${Mbit(a.rate)}. The senders halve their windows so often that nothing waits when the link is free. Drag max_th and min_th to the left, or press the button.`,
        when: (a) => a.share > 0.9,
        press: {
          label: "Raise the thresholds",
          set: [
            ["aqm.max_p", "0.1"],
            ["aqm.max_th", "45 packets"],
            ["aqm.min_th", "15 packets"],
          ],
        },
      },
      {
        say: () =>
          "Now a queue is allowed to stand. It is what the link lives on while the senders slow down.",
        when: (a) => a.share > 0.97 && a.average > 3,
      },
      {
        say: (a, b, seen) =>
          `The link carries ${Mbit(a.rate)} instead of ${Mbit(seen[1][0].rate)}, for a wait of ${ms(a.delay)}. Too low wastes the link, too high is bufferbloat, and what is right depends on the load: this is why RED is hard to set.`,
      },
    ],
  },
  {
    title: "The load trebles",
    toml: MANY(8, "min_th = 10\nmax_th = 40\nmax_p = 0.02\necn = true"),
    beside: "ared",
    speed: 2,
    steps: [
      {
        say: () =>
          "Above RED, below Adaptive RED, on the same link with 8 flows. Both have the same thresholds. The triangle is the average queue.",
        when: (a) => a.now > 15,
      },
      {
        say: (a, b) =>
          `RED's average is ${a.average.toFixed(0)} packets, ARED's ${b.average.toFixed(0)}. Let three times as many flows send.`,
        press: { label: "Treble the load", set: [["traffic.0.flows", "24"]] },
      },
      {
        say: () =>
          "More senders need more marks. RED marks more only where its queue is longer. ARED looks at its average twice a second, and raises max_p while it is above the middle.",
        when: (a, b, seen) => a.now > seen.at(-1)[0].now + 20,
      },
      {
        say: (a, b, seen) =>
          `RED's average went from ${seen[1][0].average.toFixed(0)} to ${a.average.toFixed(0)} packets. ARED raised max_p from ${seen[1][1].state.max_p.toFixed(3)} to ${b.state.max_p.toFixed(3)}, and its average is ${b.average.toFixed(0)}. It follows the load; RED has to be set again. Take flows away and see it come back.`,
      },
    ],
  },
  {
    title: "CUBIC meets BBR",
    toml: PAIR('{ rate = "10 Mbit/s", delay = "20 ms", buffer = "20 packets" }', "", [
      "cubic",
      "bbr",
    ]),
    speed: 2,
    steps: [
      {
        say: () =>
          "Two downloads share a link with a small buffer. CUBIC slows down when a packet is lost. BBR measures how fast the link is, and does not mind a loss.",
        when: (a) => a.now > 20,
      },
      {
        say: (a) =>
          `CUBIC gets ${Mbit(a.group.cubic.rate)}, BBR ${Mbit(a.group.bbr.rate)}. The buffer is so small that packets are lost all the time, and only CUBIC listens. Give it a larger one.`,
        press: {
          label: "Buffer of 400 packets",
          set: [["topology.bottleneck.buffer", "400 packets"]],
        },
      },
      {
        say: () =>
          "Losses are rare now. CUBIC fills the buffer. BBR keeps on its way no more than about twice what the empty link holds.",
        when: (a, b, seen) => a.now > seen.at(-1)[0].now + 30,
      },
      {
        say: (a) =>
          `Now CUBIC gets ${Mbit(a.group.cubic.rate)} and BBR ${Mbit(a.group.bbr.rate)}. So the buffer decides who wins, and nobody meant it to. Let the link give each flow a queue of its own.`,
        press: { label: "Turn FQ-CoDel on", set: [["aqm.kind", "fq-codel"]] },
      },
      {
        say: () => "FQ-CoDel serves the flows in turn. What one does fills its own queue alone.",
        when: (a, b, seen) => a.now > seen.at(-1)[0].now + 12 && a.delay < 0.1,
      },
      {
        say: (a) =>
          `CUBIC gets ${Mbit(a.group.cubic.rate)}, BBR ${Mbit(a.group.bbr.rate)}, whatever the buffer is: who shares is decided by the link, and no longer by who pushes.`,
      },
    ],
  },
  {
    title: "L4S beside CUBIC",
    toml: PAIR('{ rate = "40 Mbit/s", delay = "10 ms", buffer = "500 packets" }', "ecn = true", [
      "prague",
      "cubic",
    ]),
    steps: [
      {
        say: () =>
          "Two downloads. CUBIC is what most computers have. TCP Prague can be slowed down a little by each mark (L4S), but this queue gives no marks.",
        when: (a) => a.now > 5 && a.delay > 0.04,
      },
      {
        say: (a) =>
          `Both wait ${ms(a.delay)} in one queue. DualPI2 has two: packets that say they are of L4S wait in a short one, and are marked early; the others wait in a longer one.`,
        press: { label: "Turn DualPI2 on", set: [["aqm.kind", "dualpi2"]] },
      },
      {
        say: () =>
          "Marks have a colour of their own. Two queues, one picture: packets of Prague pass the others.",
        when: (a, b, seen) => a.now > seen.at(-1)[0].now + 8 && a.group.prague.delay < 0.005,
      },
      {
        say: (a) =>
          `Prague waits ${ms(a.group.prague.delay)}, CUBIC ${ms(a.group.cubic.delay)}. Prague gets ${Mbit(a.group.prague.rate)} and CUBIC ${Mbit(a.group.cubic.rate)}: the two queues are coupled, so the short one is no faster lane. Set the speed to 0.02 and follow a packet.`,
      },
    ],
  },
];
