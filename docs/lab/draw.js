// Draws: the dumbbell, the series, the profile. Each takes numbers and a canvas; nothing here knows
// of the simulation.
"use strict";

/** Hues of flows in the palette. */
const FLOWS = 5;
/** How long a drop is shown, milliseconds. */
const FALL_MS = 700;

/** Colours by name, from the palette. `lanes`: of the first and the second discipline. */
function palette() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  const names = ["ink", "muted", "grid", "paper", "shade", "mark", "drop", "threshold"];
  const flows = Array.from({ length: FLOWS }, (_, i) => of(`flow${i}`));
  return {
    ...Object.fromEntries(names.map((name) => [name, of(name)])),
    lanes: [of("c0"), of("c1")],
    flows,
  };
}

/** A canvas at the screen's resolution. Returns its context and its size in CSS pixels. What is
 * written on it is kept in `said`: a canvas cannot be asked. */
function fitted(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = canvas;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const g = canvas.getContext("2d");
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, width, height);
  g.font = "12px system-ui, sans-serif";
  g.textBaseline = "middle";
  canvas.said = [];
  const write = (text, x, y, colour, align = "left") => {
    g.fillStyle = colour;
    g.textAlign = align;
    g.fillText(text, x, y);
    canvas.said.push(text);
  };
  return { g, width, height, write };
}

function line(g, ...points) {
  g.beginPath();
  for (let i = 0; i < points.length; i += 2) g.lineTo(points[i], points[i + 1]);
  g.stroke();
}

function dashed(g, colour, ...points) {
  g.strokeStyle = colour;
  g.setLineDash([4, 3]);
  line(g, ...points);
  g.setLineDash([]);
}

/** A number with three digits and a prefix of its unit. */
function short(x, unit = "") {
  if (!Number.isFinite(x)) return "–";
  const size = Math.abs(x);
  const [factor, prefix] =
    size >= 1e9 ? [1e9, "G"] : size >= 1e6 ? [1e6, "M"] : size >= 1e4 ? [1e3, "k"] : [1, ""];
  const digits = Number((x / factor).toPrecision(3));
  return `${digits}${unit || prefix ? " " : ""}${prefix}${unit}`;
}

/** Where things stand in a lane of this size. */
function places(width, height, room) {
  const narrow = width < 520;
  const left = narrow ? 62 : 140,
    right = width - (narrow ? 14 : 34);
  const box = Math.min(46, height * 0.32),
    middle = 34 + box / 2;
  const queue = {
    x: left,
    y: middle - box / 2,
    width: (right - left) * (narrow ? 0.62 : 0.66),
    height: box,
  };
  const scale = queue.width / room;
  const head = queue.x + queue.width;
  return {
    narrow,
    left,
    right,
    middle,
    queue,
    scale,
    head,
    back: height - 9,
    x: (pkts) => head - Math.min(room, pkts) * scale,
  };
}

/** A lane: windows of the senders, the queue with its thresholds, the link, what comes back and
 * what was lost. `view`: the frame, the snapshot of its numbers, and how it is to look. */
function drawLane(canvas, view, now) {
  const { frame, shot, colours } = view;
  const { g, width, height, write } = fitted(canvas);
  const at = places(width, height, view.room);
  const { queue, middle } = at;
  drawWindows(g, write, view, at, height);
  // The way there and the way back.
  g.strokeStyle = colours.grid;
  g.lineWidth = 1;
  line(g, at.left - 8, middle, at.left, middle);
  line(g, at.right, middle, at.right, at.back, 6, at.back);
  g.lineWidth = 4;
  line(g, at.head, middle, at.right, middle);
  // What the link carries, of what it could.
  if (!frame.flying && shot.share > 0) {
    g.strokeStyle = view.colour;
    line(g, at.head, middle, at.head + (at.right - at.head) * Math.min(1, shot.share), middle);
  }
  g.lineWidth = 1;
  drawQueue(g, write, view, at);
  if (frame.flying) drawFlying(g, view, at);
  drawLosses(g, view, at, height, now);
  const carried = `${short(shot.rate, "bit/s")} of ${short(view.rate, "bit/s")}`;
  write(
    at.narrow ? short(view.rate, "bit/s") : carried,
    width - 6,
    queue.y - 10,
    colours.muted,
    "right",
  );
  write(
    at.narrow ? "ACKs" : "acknowledgements come back",
    at.right - 6,
    at.back - 9,
    colours.muted,
    "right",
  );
}

/** A bar for each flow's window. Both lanes have one scale. */
function drawWindows(g, write, view, at, height) {
  const { cwnd } = view.frame,
    { colours, senders } = view,
    n = senders.length;
  write(at.narrow ? "windows" : `windows, 0 … ${Math.round(view.most)}`, 6, 10, colours.muted);
  const top = 20,
    each = (height - top - 18) / Math.max(1, n),
    full = at.left - 20;
  senders.forEach((flow, i) => {
    g.fillStyle = colours.flows[flow % FLOWS];
    g.fillRect(
      6,
      top + i * each,
      Math.max(1, Math.min(1, cwnd[flow] / view.most) * full),
      Math.min(22, Math.max(1, each - (each > 3 ? 1 : 0))),
    );
    if (each >= 14 && !at.narrow)
      write(view.names[flow] ?? "", 9, top + i * each + Math.min(11, each / 2), colours.ink);
  });
}

/** The queue: the first packet to leave stands on the right. */
function drawQueue(g, write, view, at) {
  const { frame, shot, colours, room } = view;
  const { queue: box, x, scale } = at;
  g.fillStyle = colours.shade;
  g.fillRect(box.x, box.y, box.width, box.height);
  for (let i = 0; i < frame.queue.length; i++) {
    const marked = frame.queue[i] & 1;
    g.fillStyle = marked ? colours.mark : colours.flows[(frame.queue[i] >> 1) % FLOWS];
    const inset = marked ? 0 : 6;
    g.fillRect(
      x(i + 1),
      box.y + inset,
      Math.max(0.8, scale - (scale > 3 ? 1 : 0)),
      box.height - 2 * inset,
    );
  }
  if (frame.waiting > frame.queue.length) {
    g.fillStyle = colours.muted;
    g.fillRect(
      x(frame.waiting),
      box.y + 8,
      (frame.waiting - frame.queue.length) * scale,
      box.height - 16,
    );
  }
  g.strokeStyle = colours.ink;
  g.strokeRect(box.x, box.y, box.width, box.height);
  // Where it is narrow, away from the windows' word.
  write(
    `${shot.queue} of ${room} packets wait`,
    at.narrow ? at.head : box.x,
    box.y - 24 < 10 ? 10 : box.y - 24,
    colours.ink,
    at.narrow ? "right" : "left",
  );
  let [row, last] = [0, -Infinity];
  for (const { name, pkts, drag } of view.thresholds) {
    if (!(pkts <= room)) continue;
    const to = x(pkts),
      wide = g.measureText(name).width;
    row = to - last < wide + 10 ? 1 - row : 0; // two rows of names, where they are close
    last = to;
    dashed(g, colours.threshold, to, box.y - 3, to, box.y + box.height + 4 + 13 * row);
    if (drag) {
      g.fillStyle = colours.threshold;
      g.fillRect(to - 4, box.y - 7, 8, 8);
    }
    write(
      name,
      Math.max(box.x + wide / 2, Math.min(to, at.head - wide / 2)),
      box.y + box.height + 12 + 13 * row,
      colours.threshold,
      "center",
    );
  }
  if (Number.isFinite(shot.average)) {
    const to = x(shot.average);
    g.fillStyle = view.colour;
    g.beginPath();
    g.moveTo(to, box.y + box.height - 1);
    g.lineTo(to - 6, box.y + box.height + 9);
    g.lineTo(to + 6, box.y + box.height + 9);
    g.fill();
  }
  const { followed } = frame;
  if (followed?.ahead >= 0) ring(g, x(followed.ahead + 0.5), box.y + box.height / 2, colours);
}

/** The followed packet. */
function ring(g, x, y, colours) {
  g.strokeStyle = colours.ink;
  g.lineWidth = 2.5;
  g.beginPath();
  g.arc(x, y, 10, 0, 7);
  g.stroke();
  g.lineWidth = 1;
}

/** Where something is on its way `age` seconds after it left the queue: on the link, or coming
 * back. Returns null where it has arrived. */
function whereabouts(age, { flow, acked }, { there, flows }, at) {
  if (age < there)
    return {
      x: at.head + (at.right - at.head) * Math.max(0, age / there),
      y: at.middle,
      back: false,
    };
  const rest = (flows[flow]?.rtt_s ?? 0) - there;
  const part = (age - there) / rest;
  if (!acked || !(part <= 1)) return null;
  const down = at.back - at.middle,
    way = down + at.right - 6;
  const gone = part * way;
  return {
    x: gone < down ? at.right : at.right - (gone - down),
    y: gone < down ? at.middle + gone : at.back,
    back: true,
  };
}

/** Packets on the link are squares, acknowledgements dots; what is marked has marks' colour. */
function drawFlying(g, view, at) {
  const { frame, colours } = view;
  const size = at.narrow ? 6 : 9;
  for (let i = 0; i < frame.flying.length; i += 3) {
    const flow = frame.flying[i];
    const place = whereabouts(frame.flying[i + 2], { flow, acked: frame.cwnd[flow] > 0 }, view, at);
    if (!place) continue;
    g.fillStyle = frame.flying[i + 1] ? colours.mark : colours.flows[flow % FLOWS];
    if (!place.back) {
      g.fillRect(place.x - size / 2, place.y - size / 2, size, size);
      continue;
    }
    g.beginPath();
    g.arc(place.x, place.y, size / 3, 0, 7);
    g.fill();
  }
  const { followed } = frame;
  if (followed?.left === undefined) return;
  const place = whereabouts(followed.now - followed.left, followed, view, at);
  if (place) ring(g, place.x, place.y, colours);
}

/** What was dropped falls out of the queue, at its tail or at its head. */
function drawLosses(g, view, at, height, now) {
  const { queue } = at;
  g.strokeStyle = view.colours.drop;
  g.lineWidth = 2.5;
  for (const { head, since, shift } of view.losses) {
    const age = (now - since) / FALL_MS;
    if (age < 0 || age > 1) continue;
    const x = (head ? at.head - 30 : queue.x + 4) + shift * 24;
    const y =
      queue.y +
      queue.height +
      8 +
      (view.still ? 0 : age * age * Math.max(8, height - queue.y - queue.height - 16));
    g.globalAlpha = view.still ? 1 : 1 - age;
    line(g, x - 4, y - 4, x + 4, y + 4);
    line(g, x - 4, y + 4, x + 4, y - 4);
  }
  g.globalAlpha = 1;
  g.lineWidth = 1;
}

/** A plot with axes. `series`: lists of { points, colour, wide, dash }; `lines`: horizontal lines
 * { at, text, colour }; `notes`: vertical ones. */
function plot(
  canvas,
  { from, to, most, unit, title, series, lines = [], notes = [], colours, xUnit = "s" },
) {
  const { g, width, height, write } = fitted(canvas);
  const at = { x: 42, y: 20, width: width - 48, height: height - 38 };
  const X = (x) => at.x + ((x - from) / (to - from)) * at.width;
  const Y = (y) => at.y + at.height - (Math.min(y, most) / most) * at.height;
  write(title, 2, 8, colours.ink);
  g.strokeStyle = colours.grid;
  for (const y of ticks(0, most, 3)) {
    line(g, at.x, Y(y), at.x + at.width, Y(y));
    write(short(y, unit), at.x - 4, Y(y), colours.muted, "right");
  }
  for (const x of ticks(Math.max(0, from), to, width < 400 ? 3 : 5)) {
    if (X(x) > at.x + at.width - 8) continue;
    write(
      `${short(x)}${xUnit ? ` ${xUnit}` : ""}`,
      Math.max(X(x), at.x + 10),
      height - 8,
      colours.muted,
      "center",
    );
  }
  g.save();
  g.beginPath();
  g.rect(at.x, at.y - 2, at.width, at.height + 4);
  g.clip();
  for (const { at: y, colour } of lines)
    if (y <= most) dashed(g, colour, at.x, Y(y), at.x + at.width, Y(y));
  for (const { points, colour, dash = [], wide = 1.4 } of series) {
    g.strokeStyle = colour;
    g.lineWidth = wide;
    g.setLineDash(dash);
    g.beginPath();
    for (const [x, y] of points) if (Number.isFinite(y)) g.lineTo(X(x), Y(y));
    g.stroke();
  }
  g.setLineDash([]);
  g.lineWidth = 1;
  for (const { at: x, colour } of notes) {
    g.strokeStyle = colour;
    line(g, X(x), at.y, X(x), at.y + at.height);
  }
  g.restore();
  // Words last, on paper, so that no line runs through them.
  const label = (text, x, y, colour, align) => {
    const wide = g.measureText(text).width + 4;
    g.globalAlpha = 0.8;
    g.fillStyle = colours.paper;
    g.fillRect(align === "right" ? x - wide + 2 : x - 2, y - 7, wide, 14);
    g.globalAlpha = 1;
    write(text, x, y, colour, align);
  };
  const taken = [];
  for (const { at: y, text, colour } of lines) {
    if (!text || y > most || taken.some((t) => t.y === y && t.text === text)) continue;
    const wide = g.measureText(text).width,
      rows = Y(y) < at.y + 14 ? [Y(y) + 9, Y(y) - 8] : [Y(y) - 8, Y(y) + 9];
    const places = rows.map((height) => ({
      height,
      x: taken
        .filter((t) => Math.abs(t.height - height) < 14)
        .reduce((most, t) => Math.max(most, t.past), at.x + 4),
    }));
    // On the other side of its line where there is no room for all of it.
    const { height, x } = places.find((p) => p.x + wide <= at.x + at.width) ?? places[0];
    taken.push({ y, text, height, past: x + wide + 10 });
    label(text, x, height, colour, "left");
  }
  notes
    .filter((n) => n.at >= from)
    .slice(-4)
    .forEach(({ at: x, text, colour }, i) => {
      const past = X(x) + g.measureText(text).width > at.x + at.width;
      label(text, X(x) + (past ? -4 : 4), at.y + 8 + 14 * (i % 3), colour, past ? "right" : "left");
    });
  return { g, X, Y };
}

/** Round numbers between two, about `n` of them. */
function ticks(from, to, n) {
  const raw = (to - from) / n;
  if (!(raw > 0)) return [];
  const unit = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * unit).find((s) => s >= raw);
  const out = [];
  for (let x = Math.ceil(from / step) * step; x <= to + 1e-9 * step; x += step)
    out.push(Number(x.toPrecision(12)));
  return out;
}

/** The disciplines' profiles, with the point where each is now. */
function drawProfile(canvas, sides, colours) {
  const most = Math.max(10, ...sides.map((s) => s.room));
  const series = [];
  for (const { profile, colour } of sides) {
    const marks = profile.map(([q, incipient, ce]) => [q, incipient + ce]);
    const drops = profile.map(([q, , , dropped]) => [q, dropped]);
    series.push({ points: drops, colour, dash: [3, 3] }, { points: marks, colour });
  }
  const title = "Marked, dropped (dashed), by queue";
  const { g, X, Y } = plot(canvas, {
    from: 0,
    to: most,
    most: 1,
    unit: "",
    title,
    series,
    colours,
    xUnit: "",
  });
  for (const { now, colour } of sides) {
    if (!now.every(Number.isFinite)) continue;
    g.fillStyle = colour;
    g.strokeStyle = colours.paper;
    g.beginPath();
    g.arc(X(Math.min(most, now[0])), Y(Math.min(1, now[1])), 5, 0, 7);
    g.fill();
    g.stroke();
  }
}
