// Runs the simulation, away from the page. It advances when the page asks for a frame, for a
// bounded time, and answers with what the page draws.
"use strict";

/** Simulated time between two samples of the series, seconds. */
const SAMPLE_S = 0.02;
/** Real time that the sessions may take of a frame together, milliseconds. */
const BUDGET_MS = 11;
/** Simulated time between two looks at the clock, seconds. */
const SLICE_S = 0.02;
/** Waiting packets that are drawn one by one. */
const DRAWN = 400;
/** Points of a discipline's profile. */
const PROFILE = 40;
/** Words of the `events` table, by number. */
const MARK = 1, MARK_HEAD = 2, DEQUEUE = 3, DROP_HEAD = 7, EVICT = 8;

let engine = null;
const slots = [null, null];
let playing = true, speed = 1, last = null;

const encoder = new TextEncoder(), decoder = new TextDecoder();

/** The last answer, as bytes. */
function answered() {
  const { memory, output, length } = engine;
  return new Uint8Array(memory.buffer, output(), length());
}

/** Asks the engine. Returns its answer as text; throws its message where it refuses. */
function say(request) {
  const bytes = encoder.encode(JSON.stringify(request));
  const place = engine.input(bytes.length); // may move the memory
  new Uint8Array(engine.memory.buffer, place, bytes.length).set(bytes);
  const ok = engine.answer_at();
  const text = decoder.decode(answered());
  if (!ok) throw new Error(text);
  return text;
}

/** The same, read as JSON. */
const ask = (request) => JSON.parse(say(request));

/** Lets a session go on. Returns its time, whether it has ended, and the tables recorded. */
function step(session, until) {
  const ok = engine.step(session, until);
  const bytes = answered();
  if (!ok) throw new Error(decoder.decode(bytes));
  const numbers = new Float64Array(bytes.slice().buffer);
  const tables = [];
  let at = 3;
  for (let n = 0; n < numbers[2]; n++) {
    const [number, columns, rows] = numbers.subarray(at, at + 3);
    at += 3;
    const table = { number, rows, columns: [] };
    for (let c = 0; c < columns; c++, at += rows) table.columns.push(numbers.subarray(at, at + rows));
    tables.push(table);
  }
  return { now: numbers[0], ended: numbers[1] === 1, tables };
}

/** One run, and what of it the page has not seen yet. */
class Slot {
  constructor(toml, aqm) {
    this.session = ask({ do: "open", toml, aqm, sample_s: SAMPLE_S }).session;
    this.forget();
    this.learn();
  }

  /** The run stands at its beginning. */
  forget() {
    this.now = 0;
    this.goal = 0;
    this.ended = false;
    this.waiting = [];
    this.head = 0;
    this.totals = { arrivals: 0, marks: 0, drops: 0, left: 0 };
    this.bin = { delay: 0, left: 0, signals: 0, arrivals: 0, drops: 0 };
    this.acked = null;
    this.cwnd = new Float32Array(0);
    this.state = [];
    this.points = [];
    this.lost = [];
  }

  /** Reads what the form shows, and begins the profile. */
  learn() {
    this.told = ask({ do: "describe", session: this.session });
    this.average = this.told.state.findIndex((s) => s.name === "avg_pkts");
    this.cwnd = new Float32Array(this.told.flows.length);
    this.profile = [];
  }

  set(path, value) {
    const { did } = ask({ do: "set", session: this.session, path, value });
    const goal = Math.max(this.now, this.goal);
    if (did !== "now") this.forget();
    if (did === "again") this.goal = goal;
    this.learn();
    return did;
  }

  /** Takes in what was recorded. */
  take(tables) {
    const rows = { queue: [], goodput: new Map() };
    for (const { number, rows: n, columns } of tables) {
      const name = this.told.tables[number];
      if (name === "queue") for (let i = 0; i < n; i++) rows.queue.push(columns.map((c) => c[i]));
      if (name === "cwnd") for (let i = 0; i < n; i++) this.cwnd[columns[1][i]] = columns[2][i];
      if (name === "goodput") {
        for (let i = 0; i < n; i++) rows.goodput.set(columns[0][i], (rows.goodput.get(columns[0][i]) ?? 0) + columns[2][i]);
      }
    }
    const events = tables.filter((t) => this.told.tables[t.number] === "events");
    let [table, i] = [0, 0];
    const until = (t) => {
      for (; table < events.length; table++, i = 0) {
        const { rows: n, columns } = events[table];
        for (; i < n && columns[0][i] <= t * 1e9; i++) this.event(columns[0][i] / 1e9, columns[1][i], columns[2][i]);
        if (i < n) return;
      }
    };
    for (const row of rows.queue) {
      until(row[0]);
      this.sample(row, rows.goodput.get(row[0]) ?? 0);
    }
    until(Infinity);
  }

  /** Where the first packet of a flow waits. */
  first(flow) {
    for (let i = this.head; i < this.waiting.length; i++) if (this.waiting[i].flow === flow) return i;
    return -1;
  }

  /** Takes that packet out of the queue. */
  out(flow) {
    const i = this.first(flow);
    if (i < 0) return null;
    const packet = this.waiting[i];
    if (i === this.head) this.head++;
    else this.waiting.splice(i, 1);
    if (this.head > 1024) this.waiting.splice(0, this.head), (this.head = 0);
    return packet;
  }

  event(t, what, flow) {
    const { totals, bin } = this;
    if (what <= MARK) {
      this.waiting.push({ flow, t, marked: what === MARK });
    } else if (what === DEQUEUE) {
      const packet = this.out(flow);
      totals.left++;
      bin.left++;
      if (packet) bin.delay += t - packet.t;
    } else if (what === MARK_HEAD) {
      const i = this.first(flow);
      if (i >= 0) this.waiting[i].marked = true;
    } else {
      if (what === DROP_HEAD || what === EVICT) this.out(flow);
      totals.drops++;
      bin.drops++;
      this.lost.push(flow);
    }
    if (what <= MARK || (what >= 4 && what < DROP_HEAD)) totals.arrivals++, bin.arrivals++;
    if (what === MARK || what === MARK_HEAD) totals.marks++;
    if (what !== 0 && what !== DEQUEUE) bin.signals++;
  }

  /** A sample of the queue ends a bin: time, queue, average, delay, goodput, signals, arrivals. */
  sample(row, acked) {
    const { bin } = this;
    this.state = row.slice(3);
    const average = this.average < 0 ? NaN : this.state[this.average];
    const goodput = this.acked === null ? 0 : ((acked - this.acked) * 8) / SAMPLE_S;
    this.acked = acked;
    const delay = bin.left ? bin.delay / bin.left : NaN;
    this.points.push(row[0], row[1], average, delay, goodput, bin.signals, bin.arrivals);
    this.bin = { delay: 0, left: 0, signals: 0, arrivals: 0, drops: 0 };
  }

  /** Goes on until `until`, as far as the time allows. */
  advance(until, deadline) {
    until = Math.max(until, this.goal);
    while (!this.ended && this.now < until && performance.now() < deadline) {
      const again = this.now < this.goal;
      const to = again ? Math.min(this.goal, this.now + 10 * SLICE_S) : Math.min(until, this.now + SLICE_S);
      const { now, ended, tables } = step(this.session, to);
      this.take(tables);
      // What the page has seen before is not sent again.
      if (again) this.points.length = 0, (this.lost.length = 0);
      [this.now, this.ended] = [now, ended];
    }
  }

  /** Computes a point of the profile, if one is missing. */
  probe() {
    if (this.profile.length >= PROFILE) return false;
    const most = Math.max(4, this.told.room_pkts);
    const queue = Math.round((this.profile.length / (PROFILE - 1)) * most);
    const [packets, incipient, ce, dropped] = ask({ do: "profile", session: this.session, queue });
    this.profile.push([queue, incipient / packets, ce / packets, dropped / packets]);
    return true;
  }

  /** What the page draws. */
  frame() {
    const waiting = this.waiting.length - this.head;
    const queue = new Uint32Array(Math.min(DRAWN, waiting));
    for (let i = 0; i < queue.length; i++) {
      const { flow, marked } = this.waiting[this.head + i];
      queue[i] = flow * 2 + (marked ? 1 : 0);
    }
    const points = Float64Array.from(this.points);
    const lost = this.lost.slice(-20);
    this.points.length = this.lost.length = 0;
    const state = this.told.state.map((s, i) => [s.name, this.state[i]]);
    return {
      now: this.now, ended: this.ended, catching: this.now < this.goal ? this.now / this.goal : 1,
      waiting, queue, lost, points, cwnd: this.cwnd.slice(0, 400), state,
      totals: { ...this.totals }, profile: this.profile.slice(),
    };
  }
}

/** One frame: simulated time goes on by as much as real time has, times the speed. */
function frame(real) {
  const begun = performance.now();
  const elapsed = last === null ? 0 : Math.min(0.1, (real - last) / 1000);
  last = real;
  const open = slots.filter(Boolean);
  const target = Math.max(0, ...open.filter((s) => s.now >= s.goal).map((s) => s.now)) + (playing ? elapsed * speed : 0);
  open.forEach((slot, i) => slot.advance(target, begun + (BUDGET_MS * (i + 1)) / open.length));
  for (const slot of open) slot.probe(); // a point of the profile takes a millisecond or two
  return { do: "frame", took: performance.now() - begun, slots: slots.map((slot) => slot?.frame() ?? null) };
}

const tasks = {
  async start({ wasm }) {
    const { instance } = await WebAssembly.instantiate(wasm, {});
    engine = instance.exports;
    return { do: "started", kinds: ask({ do: "kinds" }) };
  },
  open({ slot, toml, aqm }) {
    const opened = new Slot(toml, aqm); // the old one stays where this is refused
    tasks.close({ slot });
    slots[slot] = opened;
    return { do: "told", slot, did: "anew", told: opened.told };
  },
  close({ slot }) {
    if (slots[slot]) ask({ do: "close", session: slots[slot].session });
    slots[slot] = null;
    return null;
  },
  set({ slot, path, value }) {
    const did = slots[slot].set(path, value);
    return { do: "told", slot, did, told: slots[slot].told };
  },
  play(said) {
    ({ playing, speed } = said);
    last = null;
    return null;
  },
  frame: ({ real }) => frame(real),
  document: ({ toml, seeds }) => ({ do: "document", text: say({ do: "document", toml, seeds }) }),
};

self.onmessage = async ({ data }) => {
  try {
    const answer = await tasks[data.do](data);
    self.postMessage({ ...answer, id: data.id });
  } catch (error) {
    self.postMessage({ do: "failed", id: data.id, of: data.do, slot: data.slot, message: String(error.message ?? error) });
  }
};
