// The page: asks the worker for frames, draws them, and passes on what the visitor changes.
"use strict";

const START = `name = "lab"
duration = "3600 s"
seed = 1

[topology]
kind = "dumbbell"
bottleneck = { rate = "10 Mbit/s", delay = "20 ms", buffer = "100 packets" }
access = { rate = "100 Mbit/s", delay = { uniform = ["1 ms", "10 ms"] } }

[aqm]
kind = "red"
min_th = 15
max_th = 45
max_p = 0.1
ecn = true

[[traffic]]
kind = "ftp"
flows = 10
start = { uniform = ["0 s", "1 s"] }
tcp = "reno"
ecn = "classic"
window = 100
`;
const SPEEDS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50];
/** Numbers of a point: time, queue, average, delay, goodput, signals, arrivals. */
const FIELDS = 7;
/** Points that are kept, and samples that goodput and signals are averaged over. */
const KEPT = 6000, SMOOTH = 10;
/** How long a drop is shown, milliseconds. */
const FALL_MS = 700;

const $ = (id) => document.getElementById(id);
const lanes = [...document.querySelectorAll(".lane")];

/** What is known of the two runs. */
const sides = [0, 1].map((slot) => ({ slot, told: null, frame: null, points: [], losses: [], view: {}, profile: [] }));
const page = { playing: true, speed: 1, toml: START, kinds: [], colours: palette(), frames: 0, drawn: [], real: [] };

let worker = null, requests = 0;
const answers = new Map();

/** Asks the worker. Resolves with its answer; rejects with its message. */
function ask(request) {
  const id = ++requests;
  worker.postMessage({ ...request, id });
  return new Promise((resolve, reject) => answers.set(id, { resolve, reject }));
}

function trouble(message) {
  $("trouble").hidden = !message;
  $("trouble").textContent = message ?? "";
}

/** Begins a run in a slot. */
async function open(slot, aqm) {
  const { told } = await ask({ do: "open", slot, toml: page.toml, aqm });
  const side = sides[slot];
  Object.assign(side, { told, frame: null, points: [], losses: [], profile: [], view: {} });
  lanes[slot].querySelector("h2").textContent = `${told.aqm}: ${page.kinds.find((k) => k.name === told.aqm)?.doc ?? ""}`;
  $(`aqm-${slot}`).value = told.aqm;
  if (slot === 0) $("toml").value = told.toml;
  form();
}

const opened = () => sides.filter((s) => s.told);
const form = () => writeForm($("form"), opened(), change);

/** Both runs begin again, with what the sliders say. */
async function restart() {
  trouble();
  page.toml = sides[0].told?.toml ?? page.toml;
  try {
    const second = $("two").checked ? (sides[1].told?.aqm ?? $("aqm-1").value) : null;
    const own = sides[1].told?.toml;
    await open(0);
    if (second) {
      // The second keeps what was set of its own discipline.
      const shared = page.toml;
      page.toml = own ?? shared;
      await open(1, second);
      page.toml = shared;
    }
  } catch (error) {
    trouble(error.message);
  }
}

const pending = new Map();

/** Sends a change; of changes that come faster than they are worked out, the last one. */
function change(slots, path, value, last) {
  const live = path.startsWith("aqm.") || path.endsWith(".buffer");
  if (!live && !last) return;
  for (const slot of slots) {
    const key = `${slot} ${path}`;
    const running = pending.has(key);
    pending.set(key, { slot, path, value });
    if (!running) send(key);
  }
}

async function send(key) {
  const { slot, path, value } = pending.get(key);
  try {
    const { did, told } = await ask({ do: "set", slot, path, value });
    const side = sides[slot];
    side.told = told;
    side.profile = [];
    if (did === "anew") Object.assign(side, { points: [], losses: [], view: {} });
    if (slot === 0) $("toml").value = told.toml;
    say({ now: `${path} is ${value} from now on.`, again: `${path} is ${value} from now on; the run is worked out again.`, anew: `${path} is ${value}; the run begins anew.` }[did]);
    trouble();
  } catch (error) {
    trouble(error.message);
  }
  const latest = pending.get(key);
  if (latest.value !== value) return send(key);
  pending.delete(key);
}

const say = (text) => ($("said").textContent = text);

/** Takes in what a frame brings. */
function taken(side, frame, now) {
  if (!frame) return;
  // While a run is worked out again, what was seen last stays in the picture.
  if (side.frame && frame.catching < 1) {
    side.frame.catching = frame.catching;
    return;
  }
  side.frame = frame;
  for (let i = 0; i < frame.points.length; i += FIELDS) side.points.push(frame.points.subarray(i, i + FIELDS));
  if (side.points.length > 2 * KEPT) side.points.splice(0, side.points.length - KEPT);
  for (const flow of frame.lost) side.losses.push({ flow, since: now + Math.random() * 60 });
  while (side.losses.length > 60 || (side.losses.length && now - side.losses[0].since > FALL_MS)) side.losses.shift();
  side.profile = frame.profile;
}

/** A key's value where it is a number of packets. */
function packets(side, name) {
  const state = side.frame.state.find(([key]) => key === name);
  if (state && Number.isFinite(state[1])) return state[1];
  const key = side.told.controls.find((g) => g.path === "aqm")?.keys.find((k) => k.name === name);
  const found = key && parted(key.value);
  return found && (!found[1] || found[1].startsWith("packet")) ? found[0] : NaN;
}

/** Means over the last samples: delay, goodput, signals per second, the share signalled. */
function recent(points) {
  const last = points.slice(-100);
  const sum = (i, list = last) => list.reduce((s, p) => s + (Number.isFinite(p[i]) ? p[i] : 0), 0);
  const delays = last.filter((p) => Number.isFinite(p[3]));
  const seconds = last.length > 1 ? last.at(-1)[0] - last[0][0] : NaN;
  return { delay: sum(3, delays) / delays.length, goodput: sum(4) / last.length, signals: sum(5) / seconds, share: sum(5) / Math.max(1, sum(6)), queue: sum(1) / last.length };
}

function drawLane(side, now) {
  const { frame, told, view } = side;
  const names = ["min_th", "mid_th", "max_th", "threshold", "q_ref", "b_star"];
  view.thresholds = names.map((name) => [name, packets(side, name)]).filter(([, at]) => Number.isFinite(at));
  const average = frame.state.find(([name]) => name === "avg_pkts");
  view.average = average ? average[1] : NaN;
  view.rate = told.rate_bps;
  view.room = told.room_pkts;
  drawDumbbell(lanes[side.slot].querySelector("canvas"), frame, view, page.colours, side.losses, now);
}

/** The numbers under a lane, four times a second. */
function writeNumbers(side) {
  const { frame, points } = side;
  const mean = recent(points);
  const rows = [
    ["queue", `${frame.waiting}`], ["average", Number.isFinite(side.view.average) ? side.view.average.toFixed(1) : "–"],
    ["delay", Number.isFinite(mean.delay) ? `${(mean.delay * 1e3).toFixed(1)} ms` : "–"], ["goodput", short(mean.goodput, "bit/s")],
    ["signals", `${short(mean.signals)}/s`], ["marked", `${frame.totals.marks}`], ["dropped", `${frame.totals.drops}`],
  ];
  const list = lanes[side.slot].querySelector("dl");
  if (!list.children.length) {
    for (const [name] of rows) list.append(element("div", {}, element("dt", {}, name), element("dd")));
  }
  rows.forEach(([, value], i) => (list.children[i].lastChild.textContent = value));
  const canvas = lanes[side.slot].querySelector("canvas");
  canvas.setAttribute("aria-label", `Dumbbell under ${side.told.aqm}: ${rows.map((r) => r.join(" ")).join(", ")}`);
}

/** A moving mean of a field over the samples, for what is counted. */
function smooth(points, value) {
  const out = [];
  for (let i = SMOOTH; i < points.length; i += 2) {
    let sum = 0;
    for (let k = i - SMOOTH; k < i; k++) sum += value(points[k]);
    out.push([points[i][0], sum / SMOOTH]);
  }
  return out;
}

const SCALES = {};
/** The top of a scale: moves slowly, so that the picture stays calm. */
function ceiling(name, lists, least) {
  let most = least;
  for (const list of lists) for (const [, y] of list) if (y > most) most = y;
  const now = SCALES[name] ?? most;
  return (SCALES[name] = most > now ? most : now + (most - now) * 0.03) * 1.05;
}

/** The plots, one of them a frame: five frames draw all. */
function drawPlot(which) {
  const drawn = opened().filter((s) => s.frame);
  if (!drawn.length) return;
  const colour = (s) => (s.slot ? page.colours.b : page.colours.a);
  const to = Math.max(...drawn.map((s) => s.frame.now), 1);
  const width = Math.min(100, Math.max(10, 10 * page.speed));
  const from = Math.max(0, to - width);
  const axis = { from, to: Math.max(to, from + Math.min(width, 10)), colours: page.colours };
  const inside = (s) => s.points.slice(Math.max(0, s.points.findLastIndex((p) => p[0] < from)));
  const lists = drawn.map((s) => [s, inside(s)]);
  const one = (title, unit, name, least, list) => {
    const series = lists.map(([s, points]) => ({ points: list(points), colour: colour(s) }));
    plot($(`plot-${name}`), { ...axis, title, unit, series, most: ceiling(name, series.map((s) => s.points), least) });
  };
  if (which === 0) {
    const series = lists.flatMap(([s, points]) => [
      { points: points.map((p) => [p[0], p[1]]), colour: colour(s), wide: 0.7 },
      { points: points.map((p) => [p[0], p[2]]), colour: colour(s), wide: 2.2 },
    ]);
    const lines = drawn.flatMap((s) => s.view.thresholds ?? []).map(([, y]) => y);
    plot($("plot-queue"), { ...axis, title: "Queue, packets (thick: average)", unit: "", series, lines, most: ceiling("queue", series.map((s) => s.points), 10) });
  }
  if (which === 1) one("Delay in the queue, ms", "", "delay", 1, (points) => points.map((p) => [p[0], p[3] * 1e3]));
  if (which === 2) one("Goodput of all flows, Mbit/s", "", "goodput", 1e-3, (points) => smooth(points, (p) => p[4] / 1e6));
  if (which === 3) one("Signals per second (marks and drops)", "", "signals", 1, (points) => smooth(points, (p) => p[5] / 0.02));
  if (which === 4) {
    drawProfile($("plot-profile"), drawn.map((s) => {
      const mean = recent(s.points);
      const at = Number.isFinite(s.view.average) ? s.view.average : mean.queue;
      return { profile: s.profile, colour: colour(s), room: s.told.room_pkts, now: [at, mean.share] };
    }), page.colours);
  }
}

/** One frame: what the worker has is drawn while it works on the next. */
async function loop() {
  for (;;) {
    const real = await new Promise(requestAnimationFrame);
    const begun = performance.now();
    const asked = ask({ do: "frame", real });
    for (const side of opened()) if (side.frame) drawLane(side, begun);
    drawPlot(page.frames % 5);
    if (page.frames++ % 15 === 0) writeClock(real);
    page.drawn.push(performance.now() - begun);
    if (page.drawn.length > 600) page.drawn.splice(0, 300);
    try {
      const { slots } = await asked;
      slots.forEach((frame, slot) => sides[slot].told && taken(sides[slot], frame, performance.now()));
    } catch (error) {
      trouble(error.message);
      return;
    }
  }
}

/** The clock, how fast it really goes, and the numbers. */
function writeClock(real) {
  const shown = opened().filter((s) => s.frame);
  if (!shown.length) return;
  shown.forEach(writeNumbers);
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
    : `${now.toFixed(2)} s${over} (${short(Math.max(0, page.pace || 0))}×, ${Math.round(page.rate || 0)} frames/s)`;
}

function play(playing, speed) {
  Object.assign(page, { playing, speed });
  $("play").textContent = playing ? "Pause" : "Run";
  $("play").setAttribute("aria-pressed", String(playing));
  $("speed").value = String(speed);
  page.real = [];
  return ask({ do: "play", playing, speed });
}

// ---- links -----------------------------------------------------------------------------------

const packed = (text) => btoa(String.fromCharCode(...new TextEncoder().encode(text))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const unpacked = (text) => new TextDecoder().decode(Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0)));

/** The fragment that says what is shown. It stays in the browser. */
function fragment() {
  const said = new URLSearchParams({ toml: packed(sides[0].told.toml), speed: String(page.speed) });
  if (sides[1].told) said.set("beside", sides[1].told.aqm), said.set("second", packed(sides[1].told.toml));
  return `#${said}`;
}

/** Shows what the fragment says: `toml`, or `aqm` alone; `beside`, with `second` its own scenario; `speed`. */
async function follow() {
  const said = new URLSearchParams(location.hash.slice(1));
  trouble();
  try {
    page.toml = said.has("toml") ? unpacked(said.get("toml")) : START;
    const speed = Number(said.get("speed"));
    await open(0, said.get("aqm") ?? undefined);
    await beside(said.has("beside"), said.get("beside") ?? undefined, said.has("second") ? unpacked(said.get("second")) : null);
    await play(true, SPEEDS.includes(speed) ? speed : 1);
  } catch (error) {
    trouble(error.message);
  }
}

/** Shows or hides the second run. */
async function beside(on, aqm, toml) {
  $("two").checked = on;
  $("beside").hidden = lanes[1].hidden = !on;
  if (!on) {
    await ask({ do: "close", slot: 1 });
    Object.assign(sides[1], { told: null, frame: null, points: [] });
    return form();
  }
  const first = page.toml;
  page.toml = toml ?? sides[0].told.toml;
  try {
    await open(1, aqm ?? ($("aqm-1").value || "codel"));
  } finally {
    page.toml = first;
  }
}

/** Runs a task of the page; what it says against it is shown. */
const guarded = (task) => async (event) => {
  try {
    trouble();
    await task(event);
  } catch (error) {
    trouble(error.message);
  }
};

function listen() {
  $("play").onclick = () => play(!page.playing, page.speed);
  $("restart").onclick = restart;
  $("speed").onchange = () => play(page.playing, Number($("speed").value));
  $("aqm-0").onchange = guarded(async () => {
    page.toml = sides[0].told.toml;
    await open(0, $("aqm-0").value);
  });
  $("aqm-1").onchange = guarded(() => beside(true, $("aqm-1").value));
  $("two").onchange = guarded(() => beside($("two").checked, "codel"));
  $("share").onclick = guarded(async () => {
    history.replaceState(null, "", fragment());
    await navigator.clipboard?.writeText(location.href).catch(() => null);
    say("The link is in the address bar, and in the clipboard where the browser allows it.");
  });
  $("use").onclick = guarded(async () => {
    page.toml = $("toml").value;
    await open(0);
    if (sides[1].told) await beside(true, sides[1].told.aqm);
  });
  $("save").onclick = () => {
    const address = URL.createObjectURL(new Blob([$("toml").value], { type: "application/toml" }));
    element("a", { href: address, download: "lab.toml" }).click();
    URL.revokeObjectURL(address);
  };
  window.onhashchange = follow;
  matchMedia("(prefers-color-scheme: dark)").onchange = () => (page.colours = palette());
  document.onkeydown = (event) => {
    if (event.target.closest("input, select, textarea, button, summary") || event.ctrlKey || event.metaKey || event.altKey) return;
    const at = SPEEDS.indexOf(page.speed);
    const keys = { " ": () => play(!page.playing, page.speed), r: restart, "+": () => play(page.playing, SPEEDS[Math.min(at + 1, SPEEDS.length - 1)]), "-": () => play(page.playing, SPEEDS[Math.max(at - 1, 0)]) };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  };
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
  const wasm = Uint8Array.from(atob(PENSTOCK.wasm), (c) => c.charCodeAt(0));
  page.kinds = (await ask({ do: "start", wasm })).kinds;
  for (const slot of [0, 1]) {
    for (const kind of page.kinds) $(`aqm-${slot}`).append(element("option", { value: kind.name, title: kind.doc }, kind.name));
  }
  $("aqm-1").value = "codel";
  for (const speed of SPEEDS) $("speed").append(element("option", { value: String(speed) }, `${speed}×`));
  listen();
  await follow();
  loop();
}

begin();
