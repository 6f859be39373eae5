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
/** Numbers of a point before those of the groups: time, queue, average, delay, what left in bits
 * per second, signals, arrivals. Two follow for each group: what left of it, and its delay. */
const FIELDS = 7;
/** Groups of flows that are told apart. */
const GROUPS = 6;
/** Up to this speed packets are drawn on their way, one by one. */
const SLOW = 0.1;
/** Packets on their way that are kept, and drawn. */
const FLYING = 2000;
/** Columns of the `events` table, by place. */
const AT = 0,
  WHAT = 1,
  FLOW = 2,
  BYTES = 3,
  PLACE = 5,
  DATA = 7,
  ECN = 8,
  WAITED = 9;
/** Congestion experienced, in the column `ecn`. */
const CE = 3;
/** Words of the `events` table, by number. */
const MARK = 1,
  MARK_HEAD = 2,
  DEQUEUE = 3,
  DROP_HEAD = 7,
  EVICT = 8;

let engine = null;
const slots = [null, null];
let playing = true,
  speed = 1,
  last = null;

const encoder = new TextEncoder(),
  decoder = new TextDecoder();

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
    for (let c = 0; c < columns; c++, at += rows)
      table.columns.push(numbers.subarray(at, at + rows));
    tables.push(table);
  }
  return { now: numbers[0], ended: numbers[1] === 1, tables };
}

/** One run, and what of it the page has not seen yet. */
class Slot {
  constructor(toml, aqm) {
    this.session = ask({ do: "open", toml, aqm, sample_s: SAMPLE_S }).session;
    this.columns = [];
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
    this.totals = { arrivals: 0, marks: 0, drops: 0, left: 0, bytes: 0 };
    this.bin = this.fresh();
    this.cwnd = new Float32Array(0);
    this.state = [];
    this.points = [];
    this.lost = [];
    this.flying = [];
    this.followed = null;
    this.sent = { t: 0, bits: 0 };
    this.rest = 0;
  }

  /** A bin of the series, empty. */
  fresh() {
    const groups = Array.from({ length: this.groups ?? 0 }, () => ({
      delay: 0,
      left: 0,
      bytes: 0,
    }));
    return { delay: 0, left: 0, bytes: 0, signals: 0, arrivals: 0, groups };
  }

  /** Reads what the form shows, and begins the profile. */
  learn() {
    this.told = ask({ do: "describe", session: this.session });
    // A discipline that takes over has its variables behind those of the ones before it.
    const names = this.told.state.map((s) => s.name);
    this.columns.push(...names.filter((name) => !this.columns.includes(name)));
    this.average = this.columns.indexOf("avg_pkts");
    this.groups = Math.min(GROUPS, this.told.groups.length);
    if (this.bin.groups.length !== this.groups) this.bin = this.fresh();
    if (this.cwnd.length !== this.told.flows.length)
      this.cwnd = new Float32Array(this.told.flows.length);
    this.longest = Math.max(0, ...this.told.flows.map((f) => f.rtt_s)) + 0.1;
    this.profile = [];
  }

  set(path, value) {
    const { did } = ask({ do: "set", session: this.session, path, value });
    const goal = Math.max(this.now, this.goal);
    if (did !== "now") this.forget();
    if (did === "anew") this.columns = [];
    if (did === "again") this.goal = goal;
    this.learn();
    return did;
  }

  /** Takes in what was recorded. */
  take(tables) {
    const samples = [];
    for (const { number, rows: n, columns } of tables) {
      const name = this.told.tables[number];
      if (name === "queue") for (let i = 0; i < n; i++) samples.push(columns.map((c) => c[i]));
      if (name === "cwnd") for (let i = 0; i < n; i++) this.cwnd[columns[1][i]] = columns[2][i];
    }
    const events = tables.filter((t) => this.told.tables[t.number] === "events");
    let [table, i] = [0, 0];
    const until = (t) => {
      for (; table < events.length; table++, i = 0) {
        const { rows: n, columns } = events[table];
        for (; i < n && columns[AT][i] <= t * 1e9; i++) this.event(columns, i);
        if (i < n) return;
      }
    };
    for (const row of samples) {
      until(row[0]);
      this.sample(row);
    }
    until(Infinity);
  }

  /** Takes a packet out of the queue: the first, as a rule. */
  out(place) {
    let i = this.head;
    while (i < this.waiting.length && this.waiting[i].place !== place) i++;
    if (i === this.waiting.length) return;
    if (i === this.head) this.head++;
    else this.waiting.splice(i, 1);
    if (this.head > 1024) (this.waiting.splice(0, this.head), (this.head = 0));
  }

  event(columns, i) {
    const { totals, bin } = this;
    const t = columns[AT][i] / 1e9,
      what = columns[WHAT][i],
      flow = columns[FLOW][i],
      place = columns[PLACE][i];
    if (what <= MARK) {
      this.waiting.push({ flow, place, t, marked: what === MARK });
      if (this.followed?.place === null && columns[DATA][i])
        Object.assign(this.followed, { place, flow, came: t });
    } else if (what === DEQUEUE) {
      const bytes = columns[BYTES][i],
        waited = columns[WAITED][i] / 1e9,
        marked = columns[ECN][i] === CE;
      this.out(place);
      totals.left++;
      totals.bytes += bytes;
      this.sent = { t, bits: bytes * 8 };
      for (const each of [bin, bin.groups[this.told.flows[flow]?.group]]) {
        if (each) (each.left++, (each.bytes += bytes), (each.delay += waited));
      }
      this.flying.push({ flow, place, t, marked });
      if (this.flying.length > 2 * FLYING) this.flying.splice(0, FLYING);
    } else if (what === MARK_HEAD) {
      const packet = this.waiting.find((p, k) => k >= this.head && p.place === place);
      if (packet) packet.marked = true;
    } else {
      if (what === DROP_HEAD || what === EVICT) this.out(place);
      totals.drops++;
      this.lost.push(2 * flow + (what >= DROP_HEAD ? 1 : 0));
    }
    if (what <= MARK || (what >= 4 && what < DROP_HEAD)) (totals.arrivals++, bin.arrivals++);
    if (what === MARK || what === MARK_HEAD) totals.marks++;
    if (what !== 0 && what !== DEQUEUE) bin.signals++;
    const { followed } = this;
    if (followed?.place === place && followed.place !== null) {
      if (what === DEQUEUE)
        Object.assign(followed, {
          left: t,
          waited: t - followed.came,
          marked: columns[ECN][i] === CE,
        });
      if (what === DROP_HEAD || what === EVICT) followed.dropped = t;
    }
  }

  /** A sample of the queue ends a bin, and makes a point. */
  sample(row) {
    const { bin } = this;
    this.state = row.slice(3);
    const average = this.state[this.average] ?? NaN;
    const both = (b) => [(b.bytes * 8) / SAMPLE_S, b.left ? b.delay / b.left : NaN];
    const [started, delay] = both(bin);
    // The last packet that started may be half sent: the rest belongs to the next bin.
    const { t, bits } = this.sent,
      rest = Math.max(0, bits - (row[0] - t) * this.told.rate_bps);
    const rate = started + (this.rest - rest) / SAMPLE_S;
    this.rest = rest;
    this.points.push(
      row[0],
      row[1],
      average,
      delay,
      rate,
      bin.signals,
      bin.arrivals,
      ...bin.groups.flatMap(both),
    );
    this.bin = this.fresh();
  }

  /** Follows the packet that waits behind `ahead` others, or the next one that comes. */
  follow(ahead) {
    const packet = this.waiting[this.head + ahead] ?? this.waiting.at(-1);
    const waits = this.head < this.waiting.length;
    this.followed = waits
      ? { place: packet.place, flow: packet.flow, came: packet.t }
      : { place: null };
  }

  /** How the followed packet is: where it is, and since when. */
  fate() {
    const { followed, now, head } = this;
    if (!followed || followed.place === null) return followed;
    const ahead = this.waiting.slice(head).findIndex((p) => p.place === followed.place);
    const rtt = this.told.flows[followed.flow]?.rtt_s ?? 0;
    return { ...followed, now, ahead, rtt, acked: this.cwnd[followed.flow] > 0 };
  }

  /** Goes on until `until`, as far as the time allows. */
  advance(until, deadline) {
    until = Math.max(until, this.goal);
    while (!this.ended && this.now < until && performance.now() < deadline) {
      const again = this.now < this.goal;
      const to = again
        ? Math.min(this.goal, this.now + 10 * SLICE_S)
        : Math.min(until, this.now + SLICE_S);
      const { now, ended, tables } = step(this.session, to);
      this.take(tables);
      // What the page has seen before is not sent again.
      if (again) ((this.points.length = 0), (this.lost.length = 0));
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
    const state = this.told.state.map((s) => [s.name, this.state[this.columns.indexOf(s.name)]]);
    return {
      now: this.now,
      ended: this.ended,
      catching: this.now < this.goal ? this.now / this.goal : 1,
      waiting,
      queue,
      lost,
      points,
      fields: FIELDS + 2 * this.groups,
      cwnd: this.cwnd.slice(0, 400),
      state,
      flying: this.onTheWay(),
      followed: this.fate(),
      totals: { ...this.totals },
      profile: this.profile.slice(),
    };
  }

  /** Packets on their way, where time is slow: of each its flow, whether it is marked, its age. */
  onTheWay() {
    const since = this.now - this.longest;
    const first = this.flying.findIndex((p) => p.t >= since);
    if (first) this.flying.splice(0, first < 0 ? this.flying.length : first);
    return speed > SLOW
      ? null
      : Float32Array.from(
          this.flying.slice(-FLYING).flatMap((p) => [p.flow, p.marked ? 1 : 0, this.now - p.t]),
        );
  }
}

/** One frame: simulated time goes on by as much as real time has, times the speed. */
function frame(real) {
  const begun = performance.now();
  const elapsed = last === null ? 0 : Math.min(0.1, (real - last) / 1000);
  last = real;
  const open = slots.filter(Boolean);
  const target =
    Math.max(0, ...open.filter((s) => s.now >= s.goal).map((s) => s.now)) +
    (playing ? elapsed * speed : 0);
  open.forEach((slot, i) => slot.advance(target, begun + (BUDGET_MS * (i + 1)) / open.length));
  for (const slot of open) slot.probe(); // a point of the profile takes a millisecond or two
  return {
    do: "frame",
    took: performance.now() - begun,
    slots: slots.map((slot) => slot?.frame() ?? null),
  };
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
  follow({ slot, ahead }) {
    slots[slot]?.follow(ahead);
    return null;
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
    self.postMessage({
      do: "failed",
      id: data.id,
      of: data.do,
      slot: data.slot,
      message: String(error.message ?? error),
    });
  }
};
