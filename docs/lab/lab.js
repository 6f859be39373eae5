// The page: asks the worker for frames, draws them, and passes on what the visitor changes.
"use strict";

const SPEEDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50];
/** The speed at which a packet is followed. */
const FOLLOWING = 0.05;
/** Places of a point's numbers (worker.js). */
const T = 0,
  QUEUE = 1,
  AVERAGE = 2,
  DELAY = 3,
  RATE = 4,
  SIGNALS = 5,
  ARRIVALS = 6,
  GROUPS = 7;
/** Points that are kept; those of a snapshot's means, a second; those of a plot's. */
const KEPT = 6000,
  SECOND = 50,
  SMOOTH = 10;
/** Seconds between two points. */
const SAMPLE_S = 0.02;
/** Lengths of the queue at which something happens, and waits that something is held to. */
const THRESHOLDS = ["min_th", "mid_th", "max_th", "threshold", "q_ref", "q_target", "b_star"];
const TARGETS = ["target", "qdelay_ref", "latency_target"];
/** Plots. */
const PLOTS = 5;
/** Frames between two pictures where motion is not wanted. */
const CALM = 15;
/** Words that a reader takes in, a second. */
const READ = 4;

const $ = (id) => document.getElementById(id);
const lanes = [...document.querySelectorAll(".lane")];
const calm = matchMedia("(prefers-reduced-motion: reduce)");

/** What is known of the two runs. */
const fresh = () => ({ frame: null, points: [], losses: [], notes: [], profile: [], shot: null });
const sides = [0, 1].map((slot) => ({ slot, told: null, ...fresh() }));
const page = {
  playing: true,
  speed: 1,
  toml: START,
  kinds: [],
  colours: palette(),
  frames: 0,
  drawn: [],
  real: [],
  most: 8,
  tale: null,
};

let worker = null,
  requests = 0;
const answers = new Map();

/** Asks the worker. Resolves with its answer; rejects with its message. */
function ask(request) {
  const id = ++requests;
  worker.postMessage({ ...request, id });
  return new Promise((resolve, reject) => answers.set(id, { resolve, reject }));
}

/** Says what is wrong in `place`; nothing clears it. */
function wrong(place, message) {
  place.hidden = !message;
  place.textContent = message ?? "";
}

const trouble = (message) => wrong($("trouble"), message);
const say = (text) => ($("said").textContent = text);
const opened = () => sides.filter((s) => s.told);
const form = () => writeForm($("form"), opened(), change);
const colourOf = (side) => page.colours.lanes[side.slot];

/** Takes in what is known of a run. */
function learn(side, told) {
  side.told = told;
  side.profile = [];
  lanes[side.slot].querySelector(".about").textContent =
    page.kinds.find((k) => k.name === told.aqm)?.doc ?? "";
  $(`aqm-${side.slot}`).value = told.aqm;
  if (side.slot === 0) $("toml").value = told.toml;
}

/** Begins a run in a slot. */
async function open(slot, toml, aqm) {
  const { told } = await ask({ do: "open", slot, toml, aqm });
  Object.assign(sides[slot], fresh());
  for (const name of Object.keys(SCALES)) delete SCALES[name];
  page.most = 8;
  learn(sides[slot], told);
  if (slot === 0) page.toml = told.toml;
  form();
}

/** Both runs begin again, with what the sliders say; a story begins again too. */
async function restart() {
  if (page.tale) return tell(page.tale.story);
  for (const side of opened()) await open(side.slot, side.told.toml);
}

const pending = new Map();

/** Sends a change of a key; of changes that come faster than they are worked out, the last. What
 * is wrong with it is said at the field `id`. */
function change(slots, path, value, last, id) {
  const live = path.startsWith("aqm.") || path.endsWith(".buffer");
  if (!live && !last) return Promise.resolve();
  return Promise.all(
    slots.map((slot) => {
      const key = `${slot} ${path}`;
      const running = pending.get(key);
      if (running) return Object.assign(running, { value, id }).sent;
      const task = { slot, path, value, id };
      pending.set(key, task);
      return (task.sent = send(key, task));
    }),
  );
}

const HOW = {
  now: (what) => `${what} from now on.`,
  again: (what) => `${what} from now on; what was before is worked out again.`,
  anew: (what) => `${what}; the run begins anew.`,
};

async function send(key, task) {
  for (;;) {
    const { slot, path, value } = task,
      side = sides[slot];
    const id = task.id ?? `${path.startsWith("aqm.") ? slot : 0}-${path}`;
    const beside = path === "aqm.kind" ? lanes[slot].querySelector(".wrong") : null;
    try {
      const { did, told } = await ask({ do: "set", slot, path, value });
      if (did === "anew") Object.assign(side, fresh());
      const what = path === "aqm.kind" ? value : `${path.split(".").at(-1)} ${value}`;
      note(side, path, what);
      learn(side, told);
      if (path === "aqm.kind" || did === "anew") form();
      else showField(id, value);
      if (beside) wrong(beside);
      say(HOW[did](path === "aqm.kind" ? `${value} is the discipline` : `${path} is ${value}`));
    } catch (error) {
      const message = error.message.replace(/^scenario: (--set )?/, "");
      if (beside) {
        wrong(beside, message);
        $(`aqm-${slot}`).value = side.told.aqm;
      } else if (!showField(id, value, message)) {
        wrong(lanes[slot].querySelector(".wrong"), message);
      }
    }
    if (task.value === value) break;
  }
  pending.delete(key);
}

/** Remembers a change for the plots. While a slider moves, one line moves along with it. */
function note(side, path, what) {
  const at = side.frame?.now ?? 0,
    last = side.notes.at(-1);
  if (last?.path === path && at - last.at < 0.5 * page.speed) side.notes.pop();
  side.notes.push({ at, path, text: `here: ${what}` });
}

/** Takes in what a frame brings. */
function taken(side, frame, now) {
  if (!frame) return;
  // While a run is worked out again, what was seen last stays in the picture.
  if (side.frame && frame.catching < 1) {
    side.frame.catching = frame.catching;
    return;
  }
  side.frame = frame;
  for (let i = 0; i < frame.points.length; i += frame.fields)
    side.points.push(frame.points.subarray(i, i + frame.fields));
  if (side.points.length > 2 * KEPT) side.points.splice(0, side.points.length - KEPT);
  for (const lost of frame.lost)
    side.losses.push({ head: lost & 1, since: now + Math.random() * 60, shift: Math.random() });
  while (side.losses.length > 60 || (side.losses.length && now - side.losses[0].since > FALL_MS))
    side.losses.shift();
  side.profile = frame.profile;
  side.shot = snapshot(side);
}

/** A key of the discipline: its value in force, as text. */
const valueOf = (side, name) =>
  side.told.controls.find((g) => g.path === "aqm")?.keys.find((k) => k.name === name)?.value;

/** Where a threshold is, in packets, and what dragging it there sets. A target of time is where the
 * link takes that long for what waits. */
function thresholds(side) {
  const { told, shot } = side,
    out = [];
  for (const name of THRESHOLDS) {
    const state = shot.state[name];
    const found = parted(valueOf(side, name));
    const set = found && (!found[1] || found[1].startsWith("packet"));
    const pkts = Number.isFinite(state) ? state : set ? found[0] : NaN;
    if (Number.isFinite(pkts))
      out.push({ name, pkts, drag: set && ((to) => `${Math.max(1, Math.round(to))} packets`) });
  }
  const each = shot.packet_bits / told.rate_bps;
  for (const name of TARGETS) {
    const seconds = inSeconds(valueOf(side, name));
    if (seconds > 0 && each > 0)
      out.push({
        name,
        pkts: seconds / each,
        seconds,
        drag: (to) => `${Math.max(0.1, to * each * 1e3).toPrecision(3)} ms`,
      });
  }
  return out.sort((a, b) => b.pkts - a.pkts);
}

/** A time with its unit, in seconds; NaN where it is something else. */
function inSeconds(text) {
  const found = parted(text),
    factor = found && { s: 1, ms: 1e-3, us: 1e-6, µs: 1e-6 }[found[1]];
  return factor ? found[0] * factor : NaN;
}

/** All numbers that are shown of a lane, in words and in the picture, at one moment. What is
 * counted is a mean over the last second. */
function snapshot(side) {
  const { frame, told } = side;
  const last = side.points.slice(-SECOND);
  const mean = (i) => {
    const found = last.map((p) => p[i]).filter(Number.isFinite);
    return found.reduce((s, x) => s + x, 0) / found.length;
  };
  const sum = (i) => last.reduce((s, p) => s + p[i], 0);
  const state = Object.fromEntries(frame.state);
  const groups = told.groups.slice(0, (frame.fields - GROUPS) / 2);
  const rate = mean(RATE);
  const forward = told.flows.filter((f) => f.forward);
  return {
    now: frame.now,
    queue: frame.waiting,
    room: told.room_pkts,
    link: told.rate_bps,
    rate,
    share: rate / told.rate_bps,
    average: state.avg_pkts ?? NaN,
    delay: mean(DELAY),
    signals: sum(SIGNALS) / (last.length * SAMPLE_S),
    signalled: sum(SIGNALS) / Math.max(1, sum(ARRIVALS)),
    mean_queue: mean(QUEUE),
    state,
    marks: frame.totals.marks,
    drops: frame.totals.drops,
    packet_bits: 8 * (frame.totals.left ? frame.totals.bytes / frame.totals.left : 1000),
    rtt: Math.min(...(forward.length ? forward : told.flows).map((f) => f.rtt_s)),
    group: Object.fromEntries(
      groups.flatMap((name, i) =>
        forward.some((f) => f.group === i)
          ? [[name, { rate: mean(GROUPS + 2 * i), delay: mean(GROUPS + 2 * i + 1) }]]
          : [],
      ),
    ),
  };
}

/** The picture of a lane and the numbers beneath it, both from one snapshot. */
function showLane(side, now) {
  const { frame, told, shot } = side;
  side.thresholds = thresholds(side);
  const rooms = opened().map((s) => s.told.room_pkts);
  const names = told.flows.length <= 8 ? told.flows.map((f) => told.groups[f.group]) : [];
  const senders = [...frame.cwnd.keys()].filter((i) => told.flows[i]?.forward);
  drawLane(
    lanes[side.slot].querySelector("canvas"),
    {
      frame,
      shot,
      losses: side.losses,
      thresholds: side.thresholds,
      colours: page.colours,
      colour: colourOf(side),
      names,
      senders,
      room: Math.max(4, ...rooms),
      rate: told.rate_bps,
      most: page.most,
      there: told.delay_s,
      flows: told.flows,
      still: calm.matches,
    },
    now,
  );
  writeNumbers(side);
}

function writeNumbers(side) {
  const { shot, frame } = side;
  const wait = (x) => (Number.isFinite(x) ? `${(x * 1e3).toFixed(1)} ms` : "–");
  const groups = Object.entries(shot.group);
  const rows = [
    ["queue", `${shot.queue}`],
    ["average", shot.average.toFixed(1)],
    ["wait", wait(shot.delay)],
    ["link", `${Math.round(100 * Math.min(1, shot.share || 0))} % full`],
    ["marked", `${shot.marks}`],
    ["dropped", `${shot.drops}`],
    ...(groups.length > 1 ? groups : []).map(([name, g]) => [
      name,
      `${short(g.rate, "bit/s")}, waits ${wait(g.delay)}`,
    ]),
  ].filter(([name]) => name !== "average" || Number.isFinite(shot.average));
  const list = lanes[side.slot].querySelector("dl");
  if (list.children.length !== rows.length)
    list.replaceChildren(...rows.map(() => element("div", {}, element("dt"), element("dd"))));
  rows.forEach(([name, value], i) => {
    const [dt, dd] = list.children[i].children;
    if (dt.textContent !== name) dt.textContent = name;
    if (dd.textContent !== value) dd.textContent = value;
  });
  if (page.frames % 30 === 0) {
    const text = `Dumbbell under ${side.told.aqm}: ${rows.map((r) => r.join(" ")).join(", ")}`;
    lanes[side.slot].querySelector("canvas").setAttribute("aria-label", text);
  }
  if (frame.followed) sayFate(side, frame.followed);
}

/** Tells what becomes of the packet that is followed. */
function sayFate(side, fate) {
  if (fate.place === null) return say("The next packet that comes is followed.");
  const name = side.told.groups[side.told.flows[fate.flow]?.group] ?? "a flow";
  say(`Followed: a packet of ${name}. ${fateOf(fate, side.told.delay_s)}`);
}

/** How the followed packet is. `there`: how long the link takes, seconds. */
function fateOf(fate, there) {
  const { now, came, left, dropped, waited, marked, acked, rtt } = fate;
  if (dropped !== undefined) return `It was dropped after it had waited ${ms(dropped - came)}.`;
  if (left === undefined) return `It has waited ${ms(now - came)}; ${fate.ahead} are ahead of it.`;
  const so = `It waited ${ms(waited)}`,
    mark = marked ? " with its mark" : "";
  if (now - left < there) return `${so}, and is on the link${mark}.`;
  if (!acked) return `${so}. It arrived ${ms(waited + there)} after it came to the queue.`;
  if (now - left < rtt) return `${so}; its acknowledgement is on the way back${mark}.`;
  const heard = marked ? "The sender hears of the mark" : "The sender hears of it";
  const after = `${heard} ${ms(waited + rtt)} after it came to the queue`;
  return `${after}, ${ms(waited)} of which it waited.`;
}

/** A moving mean of a field over the samples, for what is counted. */
function smooth(points, value) {
  const out = [];
  let sum = 0;
  points.forEach((point, i) => {
    sum += value(point);
    if (i >= SMOOTH) sum -= value(points[i - SMOOTH]);
    if (i >= SMOOTH && i % 2) out.push([point[T], sum / SMOOTH]);
  });
  return out;
}

const SCALES = {};
/** The top of a scale: moves slowly, so that the picture stays calm. */
function ceiling(name, lists, least) {
  let most = least;
  for (const list of lists) for (const [, y] of list) if (y > most) most = y;
  const now = calm.matches ? most : (SCALES[name] ?? most);
  return (SCALES[name] = most > now ? most : now + (most - now) * 0.05) * 1.1;
}

/** One of the plots: a frame draws one, five draw all. What holds of the link or of a discipline
 * is a dashed line. */
function drawPlot(which) {
  const drawn = opened().filter((s) => s.frame && s.thresholds);
  if (!drawn.length) return;
  const { colours } = page;
  const to = Math.max(...drawn.map((s) => s.frame.now), 0.1);
  const width = Math.min(100, Math.max(2, 10 * page.speed));
  const from = Math.max(0, to - width);
  const notes = drawn.flatMap((s) => s.notes.map((n) => ({ ...n, colour: colourOf(s) })));
  const axis = { from, to: Math.max(to, from + Math.min(width, 10)), colours, notes, unit: "" };
  const first = (points) => {
    let i = points.length;
    while (i > 0 && points[i - 1][T] >= from) i--;
    return Math.max(0, i - 1 - SMOOTH);
  };
  const lists = drawn.map((s) => [s, s.points.slice(first(s.points))]);
  const draw = (name, title, series, least, lines = []) =>
    plot($(`plot-${name}`), {
      ...axis,
      title,
      series,
      lines,
      most: ceiling(
        name,
        series.map((s) => s.points),
        least,
      ),
    });
  const each = (list) =>
    lists.map(([s, points]) => ({ points: list(points), colour: colourOf(s) }));
  const same = drawn.length === 1 || drawn[0].told.room_pkts === drawn[1].told.room_pkts;
  const { shot } = drawn[0];
  const reference = (at, text, colour = colours.muted) => ({ at, text, colour });
  if (which === 0) {
    const targets = drawn
      .flatMap((s) => s.thresholds)
      .filter((t) => t.seconds)
      .map((t) => reference(t.seconds * 1e3, `${t.name} ${ms(t.seconds)}`, colours.threshold));
    const full = (shot.room * shot.packet_bits) / shot.link;
    const lines = [
      ...targets,
      reference(shot.rtt * 1e3, `base round trip ${ms(shot.rtt)}`),
      reference(full * 1e3, `full buffer ${ms(full)}`),
    ];
    draw(
      "delay",
      "Wait in the queue, ms",
      each((points) => points.map((p) => [p[T], p[DELAY] * 1e3])),
      Math.max(1, shot.rtt * 1.1e3),
      lines,
    );
  }
  if (which === 1) {
    const series = lists.flatMap(([s, points]) => [
      { points: points.map((p) => [p[T], p[QUEUE]]), colour: colourOf(s), wide: 0.8 },
      { points: points.map((p) => [p[T], p[AVERAGE]]), colour: colourOf(s), wide: 2.2 },
    ]);
    const lines = drawn
      .flatMap((s) => s.thresholds.filter((t) => !t.seconds))
      .map((t) => reference(t.pkts, t.name, colours.threshold));
    for (const s of same ? [drawn[0]] : drawn)
      lines.push(reference(s.told.room_pkts, `buffer ${s.told.room_pkts}`));
    draw("queue", "Queue, packets (thick: average)", series, 10, lines);
  }
  if (which === 2) {
    const lines = [reference(shot.link / 1e6, `link ${short(shot.link, "bit/s")}`)];
    draw(
      "rate",
      "What the link carries, Mbit/s",
      each((points) => smooth(points, (p) => p[RATE] / 1e6)),
      shot.link / 1e6,
      lines,
    );
  }
  if (which === 3)
    draw(
      "signals",
      "Marks and drops per second",
      each((points) => smooth(points, (p) => p[SIGNALS] / SAMPLE_S)),
      1,
    );
  if (which === 4) {
    drawProfile(
      $("plot-profile"),
      drawn.map((s) => {
        const at = Number.isFinite(s.shot.average) ? s.shot.average : s.shot.mean_queue;
        return {
          profile: s.profile,
          colour: colourOf(s),
          room: s.told.room_pkts,
          now: [at, s.shot.signalled],
        };
      }),
      colours,
    );
  }
}

/** Draws what the last frames brought, and some of the plots. */
function draw(now, plots) {
  const shown = opened().filter((s) => s.frame);
  const most = Math.max(8, ...shown.flatMap((s) => [...s.frame.cwnd])) * 1.1;
  page.most = calm.matches ? most : page.most + (most - page.most) * 0.1; // the scale does not jump
  for (const side of shown) showLane(side, now);
  plots.forEach(drawPlot);
}

/** One frame: what the worker has is drawn while it works on the next. */
async function loop() {
  for (;;) {
    const real = await new Promise(requestAnimationFrame);
    const begun = performance.now();
    const asked = ask({ do: "frame", real });
    if (!calm.matches) draw(begun, [page.frames % PLOTS]);
    else if (page.frames % CALM === 0) draw(begun, [...Array(PLOTS).keys()]);
    if (page.frames++ % 15 === 0) writeClock(real);
    page.drawn.push(performance.now() - begun);
    if (page.drawn.length > 600) page.drawn.splice(0, 300);
    try {
      const { slots } = await asked;
      slots.forEach(
        (frame, slot) => sides[slot].told && taken(sides[slot], frame, performance.now()),
      );
      goOn();
    } catch (error) {
      trouble(error.message);
      return;
    }
  }
}

/** The clock, and how fast it really goes. */
function writeClock(real) {
  const shown = opened().filter((s) => s.frame);
  if (!shown.length) return;
  const now = Math.max(...shown.map((s) => s.frame.now));
  page.real.push([real, now, page.frames]);
  if (page.real.length > 5) page.real.shift();
  const [r, t, f] = page.real[0];
  page.pace = ((now - t) / (real - r)) * 1000;
  page.rate = ((page.frames - f) / (real - r)) * 1000;
  const behind = shown.find((s) => s.frame.catching < 1);
  const over = shown.every((s) => s.frame.ended) ? ", over" : "";
  $("clock").textContent = behind
    ? `working it out again, ${Math.round(100 * behind.frame.catching)} %`
    : `${now.toFixed(page.speed < 0.2 ? 3 : 1)} s${over} (${short(Math.max(0, page.pace || 0))}×)`;
}

function play(playing, speed) {
  Object.assign(page, { playing, speed });
  $("play").textContent = playing ? "Pause" : "Run";
  $("play").setAttribute("aria-pressed", String(playing));
  $("speed").value = String(speed);
  page.real = [];
  return ask({ do: "play", playing, speed });
}

/** Follows the packet that waits behind `ahead` others, slowly enough to be seen. */
async function follow(slot = 0, ahead = Infinity) {
  await play(true, Math.min(page.speed, FOLLOWING));
  await ask({ do: "follow", slot, ahead: Math.min(ahead, 1e9) });
}

// ---- stories ---------------------------------------------------------------------------------

/** Tells a story from its beginning. */
async function tell(story) {
  page.tale = null;
  await open(0, story.toml);
  await beside(Boolean(story.beside), story.beside);
  page.tale = { story, at: -1, seen: [], done: false };
  await play(!calm.matches, story.speed ?? 1);
  for (const [i, button] of [...$("stories").children].entries())
    button.setAttribute("aria-current", String(STORIES[i] === story));
}

function leave() {
  page.tale = null;
  $("tale").hidden = true;
  for (const button of $("stories").children) button.setAttribute("aria-current", "false");
}

/** Goes on with the story where its step is over. */
function goOn() {
  const { tale } = page,
    shots = opened().map((s) => s.shot);
  if (
    !tale ||
    tale.done ||
    !shots.length ||
    shots.some((shot) => !shot) ||
    sides.some((s) => s.frame?.catching < 1)
  )
    return;
  const step = tale.story.steps[tale.at];
  if (step) {
    const read = ($("tale-said").textContent.split(" ").length / READ) * (tale.story.speed ?? 1);
    const [begun] = tale.seen.at(-1);
    const shows = () => step.when(shots[0], shots[1], tale.seen);
    const byHand = () => (step.when ? shows() : made(step.press));
    const over = step.press ? tale.pressed || byHand() : shots[0].now - begun.now > read && shows();
    if (!over) return;
  }
  tale.at++;
  tale.pressed = false;
  const next = tale.story.steps[tale.at];
  $("tale").hidden = false;
  $("tale-said").textContent = next.say(shots[0], shots[1], tale.seen);
  tale.seen.push(shots);
  $("tale-do").hidden = !next.press;
  $("tale-do").textContent = next.press?.label ?? "";
  tale.done = tale.at === tale.story.steps.length - 1;
}

/** Whether the visitor has done by hand what a step asks for. */
function made({ set: [[path, value]] }) {
  const key = path.split(".").at(-1),
    place = path.slice(0, -key.length - 1);
  if (path === "aqm.kind") return sides[0].told.aqm === value;
  const now = sides[0].told.controls
    .find((g) => g.path === place)
    ?.keys.find((k) => k.name === key)?.value;
  return String(now) === value;
}

/** Does what the step asks for. */
async function press() {
  const { tale } = page,
    step = tale.story.steps[tale.at];
  $("tale-do").hidden = true;
  for (const [path, value] of step.press.set)
    await change(
      opened().map((s) => s.slot),
      path,
      value,
      true,
    );
  if (tale.story.steps[tale.at] === step) tale.pressed = true;
}

// ---- the picture is touched -------------------------------------------------------------------

/** How near a threshold is touched, in CSS pixels. */
const NEAR = 14;

/** Thresholds are dragged; a packet that is pressed is followed. */
function touch(slot) {
  const canvas = lanes[slot].querySelector("canvas"),
    side = sides[slot];
  const at = () =>
    places(
      canvas.clientWidth,
      canvas.clientHeight,
      Math.max(4, ...opened().map((s) => s.told.room_pkts)),
    );
  const near = (event) => {
    const x = event.offsetX;
    const found = (side.thresholds ?? []).filter(
      (t) => t.drag && Math.abs(at().x(t.pkts) - x) < NEAR,
    );
    return found.sort((a, b) => Math.abs(at().x(a.pkts) - x) - Math.abs(at().x(b.pkts) - x))[0];
  };
  let dragged = null;
  const packets = (event) => (at().head - event.offsetX) / at().scale;
  const drag = (event, last) =>
    change([slot], `aqm.${dragged.name}`, dragged.drag(packets(event)), last);
  canvas.onpointerdown = (event) => {
    const { queue, head } = at();
    dragged = near(event);
    if (dragged) {
      canvas.setPointerCapture(event.pointerId);
      event.preventDefault();
    } else if (event.offsetX >= queue.x && event.offsetX <= head) {
      follow(slot, Math.max(0, Math.floor(packets(event))));
    }
  };
  canvas.onpointermove = (event) => {
    if (dragged) drag(event, false);
    else canvas.classList.toggle("over", Boolean(near(event)));
  };
  canvas.onpointerup = (event) => {
    if (dragged) drag(event, true);
    dragged = null;
  };
  canvas.onpointercancel = () => (dragged = null);
}

// ---- links -----------------------------------------------------------------------------------

const packed = (text) =>
  btoa(String.fromCharCode(...new TextEncoder().encode(text)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
const unpacked = (text) =>
  new TextDecoder().decode(
    Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0)),
  );

/** The fragment that says what is shown. It stays in the browser. */
function fragment() {
  const said = new URLSearchParams({ toml: packed(sides[0].told.toml), speed: String(page.speed) });
  if (sides[1].told)
    (said.set("beside", sides[1].told.aqm), said.set("second", packed(sides[1].told.toml)));
  return `#${said}`;
}

/** Shows what the fragment says: `story`, by number; or `toml`, or `aqm` alone; `beside`, with
 * `second` its own scenario; `speed`. Without one DropTail and CoDel are beside each other. With
 * `bare` there are the lanes alone, for a page that has them in a frame. */
async function visit() {
  const said = new URLSearchParams(location.hash.slice(1));
  document.documentElement.classList.toggle("bare", said.has("bare"));
  trouble();
  try {
    const story = STORIES[Number(said.get("story")) - 1];
    if (story) return await tell(story);
    leave();
    const nothing = location.hash.length < 2;
    const speed = Number(said.get("speed"));
    await open(
      0,
      said.has("toml") ? unpacked(said.get("toml")) : START,
      said.get("aqm") ?? undefined,
    );
    await beside(
      nothing || said.has("beside"),
      said.get("beside") ?? undefined,
      said.has("second") ? unpacked(said.get("second")) : undefined,
    );
    await play(!calm.matches, SPEEDS.includes(speed) ? speed : 1);
  } catch (error) {
    trouble(error.message);
  }
}

/** Shows or hides the second run. It begins at the beginning, and catches up with the first. */
async function beside(on, aqm = "codel", toml = sides[0].told.toml) {
  if (on) await open(1, toml, aqm);
  else {
    await ask({ do: "close", slot: 1 });
    Object.assign(sides[1], { told: null, ...fresh() });
    form();
  }
  $("two").checked = on;
  lanes[1].hidden = !on;
  $("lanes").classList.toggle("alone", !on);
}

/** Runs a task of the page; what it says against it is shown in `place`. */
const guarded =
  (task, place = $("trouble")) =>
  async (event) => {
    try {
      wrong(place);
      await task(event);
    } catch (error) {
      wrong(place, error.message);
    }
  };

/** Whether a key belongs to the control that has the focus. After a click it does not: whoever
 * works with the mouse has not chosen the control for the keyboard. */
function takes(target, key) {
  if (target.closest("textarea, input[type=text]")) return true;
  if (target.closest("select")) return target.matches(":focus-visible");
  return (
    key === " " &&
    target.closest("button, summary, input[type=checkbox]") !== null &&
    target.matches(":focus-visible")
  );
}

function listen() {
  $("play").onclick = () => play(!page.playing, page.speed);
  $("restart").onclick = guarded(restart);
  $("speed").onchange = () => play(page.playing, Number($("speed").value));
  $("follow").onclick = () => follow();
  for (const slot of [0, 1]) {
    $(`aqm-${slot}`).onchange = () => change([slot], "aqm.kind", $(`aqm-${slot}`).value, true);
    touch(slot);
  }
  $("two").onchange = guarded(async () => {
    leave();
    await beside($("two").checked);
  });
  for (const story of STORIES) {
    const button = element("button", { type: "button", "aria-current": "false" }, story.title);
    button.onclick = guarded(() => tell(story));
    $("stories").append(button);
  }
  $("tale-do").onclick = guarded(press);
  $("tale-leave").onclick = leave;
  $("share").onclick = guarded(async () => {
    history.replaceState(null, "", fragment());
    await navigator.clipboard?.writeText(location.href).catch(() => null);
    say("The link is in the address bar, and in the clipboard where the browser allows it.");
  });
  $("use").onclick = guarded(async () => {
    await open(0, $("toml").value);
    leave();
    if (sides[1].told) await beside(true, sides[1].told.aqm);
  }, $("toml-wrong"));
  $("save").onclick = () => {
    const address = URL.createObjectURL(new Blob([$("toml").value], { type: "application/toml" }));
    element("a", { href: address, download: "lab.toml" }).click();
    URL.revokeObjectURL(address);
  };
  window.onhashchange = visit;
  matchMedia("(prefers-color-scheme: dark)").onchange = () => (page.colours = palette());
  document.onkeydown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || takes(event.target, event.key)) return;
    const at = SPEEDS.indexOf(page.speed);
    const pause = () => play(!page.playing, page.speed);
    const faster = (by) => () =>
      play(page.playing, SPEEDS[Math.max(0, Math.min(at + by, SPEEDS.length - 1))]);
    const keys = {
      " ": pause,
      p: pause,
      r: guarded(restart),
      f: () => follow(),
      "+": faster(1),
      "-": faster(-1),
    };
    const asked = keys[event.key.toLowerCase()];
    if (!asked) return;
    event.preventDefault();
    asked();
  };
}

/** Tells the page around this one how high it is, and takes the colours that its reader chose. */
function belong() {
  const { documentElement: html, body } = document;
  const tell = () => parent.postMessage({ penstock: body.offsetHeight }, "*");
  new ResizeObserver(tell).observe(body);
  addEventListener("message", ({ data }) => {
    if (data?.scheme === undefined) return;
    html.dataset.mdColorScheme = data.scheme;
    page.colours = palette();
  });
}

async function begin() {
  if (!globalThis.PENSTOCK) {
    trouble("The engine is not here: engine.js is made by `make lab` in a checkout of Penstock.");
    return;
  }
  const source = new Blob([PENSTOCK.worker], { type: "text/javascript" });
  worker = new Worker(URL.createObjectURL(source));
  worker.onmessage = ({ data }) => {
    const waiting = answers.get(data.id);
    answers.delete(data.id);
    if (data.do === "failed") waiting?.reject(new Error(data.message));
    else waiting?.resolve(data);
  };
  worker.onerror = (event) => trouble(event.message);
  const packed = new Blob([Uint8Array.from(atob(PENSTOCK.wasm), (c) => c.charCodeAt(0))]);
  const wasm = await new Response(
    packed.stream().pipeThrough(new DecompressionStream("gzip")),
  ).arrayBuffer();
  page.kinds = (await ask({ do: "start", wasm })).kinds;
  for (const slot of [0, 1]) {
    for (const kind of page.kinds)
      $(`aqm-${slot}`).append(element("option", { value: kind.name, title: kind.doc }, kind.name));
  }
  for (const speed of SPEEDS)
    $("speed").append(element("option", { value: String(speed) }, `${speed}×`));
  listen();
  await visit();
  if (parent !== window) belong();
  loop();
}

begin();
