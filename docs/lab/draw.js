// Draws: the dumbbell, the series, the profile. Each takes numbers and a canvas; nothing here knows
// of the simulation.
"use strict";

/** Colours by name, from the page's style sheet. */
function palette() {
  const style = getComputedStyle(document.documentElement);
  const names = ["ink", "faint", "line", "paper", "panel", "a", "b", "mark", "drop", "average", "threshold"];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/** A canvas at the screen's resolution. Returns its context and its size in CSS pixels. */
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
  return { g, width, height };
}

/** The colour of a flow: neighbours differ. */
const hue = (flow, alpha = 1) => `hsl(${(flow * 137.5) % 360} 55% 55% / ${alpha})`;

/** A number with three digits and a prefix of its unit. */
function short(x, unit = "") {
  if (!Number.isFinite(x)) return "–";
  const size = Math.abs(x);
  const [factor, prefix] = size >= 1e9 ? [1e9, "G"] : size >= 1e6 ? [1e6, "M"] : size >= 1e4 ? [1e3, "k"] : [1, ""];
  const digits = Number((x / factor).toPrecision(3));
  return `${digits}${unit || prefix ? " " : ""}${prefix}${unit}`;
}

/** The dumbbell: windows of the senders, the queue with its thresholds, the link, what was lost. */
function drawDumbbell(canvas, frame, view, colours, losses, now) {
  const { g, width, height } = fitted(canvas);
  const narrow = width < 520;
  const left = narrow ? 70 : 130, right = width - (narrow ? 40 : 90);
  const middle = height * 0.45, box = 44;
  drawWindows(g, frame.cwnd, { x: 8, y: 18, width: left - 34, height: height - 44 }, view, colours);
  // Access links.
  g.strokeStyle = colours.line;
  g.lineWidth = 1;
  for (let i = 0; i < 5; i++) {
    const y = 18 + ((height - 44) * (i + 0.5)) / 5;
    line(g, left - 24, y, left, middle);
    line(g, right + 14, middle, width - 6, y);
  }
  g.lineWidth = 3;
  line(g, right - 22, middle, right + 14, middle);
  g.lineWidth = 1;
  drawQueue(g, frame, { x: left, y: middle - box / 2, width: right - left - 24, height: box }, view, colours);
  drawLosses(g, losses, { x: left + 6, y: middle + box / 2, height: height - middle - box / 2 - 22 }, colours, now);
  g.fillStyle = colours.faint;
  g.textAlign = "left";
  g.fillText(narrow ? "windows" : "windows of the flows", 8, height - 8);
  g.textAlign = "right";
  g.fillText(`${short(view.rate, "bit/s")} →`, width - 6, height - 8);
}

function line(g, x, y, x2, y2) {
  g.beginPath();
  g.moveTo(x, y);
  g.lineTo(x2, y2);
  g.stroke();
}

/** A bar for each flow's window. */
function drawWindows(g, cwnd, at, view, colours) {
  const n = cwnd.length;
  if (!n) return;
  const most = Math.max(8, ...cwnd) * 1.1;
  view.most = view.most ? view.most + (most - view.most) * 0.05 : most; // the scale does not jump
  const each = at.height / n;
  for (let i = 0; i < n; i++) {
    g.fillStyle = hue(i);
    g.fillRect(at.x, at.y + i * each, Math.max(1, Math.min(1, cwnd[i] / view.most) * at.width), Math.max(1, each - (each > 3 ? 1 : 0)));
  }
  g.fillStyle = colours.faint;
  g.textAlign = "left";
  g.fillText(`0 … ${Math.round(view.most)} segments`, at.x, 8);
}

/** The queue: the first packet to leave stands on the right. */
function drawQueue(g, frame, at, view, colours) {
  const room = Math.max(4, view.room);
  const scale = at.width / room;
  const x = (pkts) => at.x + at.width - Math.min(room, pkts) * scale;
  g.fillStyle = colours.panel;
  g.fillRect(at.x, at.y, at.width, at.height);
  for (let i = 0; i < frame.queue.length; i++) {
    const marked = frame.queue[i] & 1;
    g.fillStyle = marked ? colours.mark : hue(frame.queue[i] >> 1, 0.85);
    const inset = marked ? 0 : 6;
    g.fillRect(x(i + 1), at.y + inset, Math.max(0.8, scale - (scale > 3 ? 1 : 0)), at.height - 2 * inset);
  }
  if (frame.waiting > frame.queue.length) {
    g.fillStyle = colours.faint;
    g.fillRect(x(frame.waiting), at.y + 8, (frame.waiting - frame.queue.length) * scale, at.height - 16);
  }
  g.strokeStyle = colours.ink;
  g.strokeRect(at.x, at.y, at.width, at.height);
  g.textAlign = "center";
  for (const [name, pkts] of view.thresholds) {
    if (!(pkts <= room)) continue;
    g.strokeStyle = g.fillStyle = colours.threshold;
    g.setLineDash([4, 3]);
    line(g, x(pkts), at.y - 8, x(pkts), at.y + at.height + 4);
    g.setLineDash([]);
    g.fillText(name, x(pkts), at.y - 16);
  }
  if (Number.isFinite(view.average)) {
    const to = x(view.average);
    g.fillStyle = colours.average;
    g.beginPath();
    g.moveTo(to, at.y + at.height + 1);
    g.lineTo(to - 6, at.y + at.height + 12);
    g.lineTo(to + 6, at.y + at.height + 12);
    g.fill();
    g.fillText("average", Math.min(at.x + at.width - 22, Math.max(at.x + 22, to)), at.y + at.height + 20);
  }
  g.fillStyle = colours.faint;
  g.textAlign = "left";
  g.fillText(`${frame.waiting} of ${room} packets`, at.x, at.y - 34);
}

/** What was dropped falls out of the queue. `losses`: flow and when, in milliseconds. */
function drawLosses(g, losses, at, colours, now) {
  g.fillStyle = colours.drop;
  for (const { flow, since } of losses) {
    const age = (now - since) / 700;
    if (age < 0 || age > 1) continue;
    g.globalAlpha = 1 - age;
    g.fillRect(at.x + ((flow * 37) % 24), at.y + age * age * at.height, 7, 7);
    g.globalAlpha = 1;
  }
}

/** A plot with axes. `rows`: lists of { x, y, colour, width }, `over`: horizontal lines. */
function plot(canvas, { from, to, most, unit, title, series, lines = [], colours, xUnit = "s" }) {
  const { g, width, height } = fitted(canvas);
  const at = { x: 46, y: 18, width: width - 54, height: height - 36 };
  const X = (x) => at.x + ((x - from) / (to - from)) * at.width;
  const Y = (y) => at.y + at.height - (Math.min(y, most) / most) * at.height;
  g.fillStyle = colours.ink;
  g.textAlign = "left";
  g.fillText(title, at.x, 8);
  g.strokeStyle = colours.line;
  g.fillStyle = colours.faint;
  for (const y of ticks(0, most, 3)) {
    line(g, at.x, Y(y), at.x + at.width, Y(y));
    g.textAlign = "right";
    g.fillText(short(y, unit), at.x - 4, Y(y));
  }
  g.textAlign = "center";
  for (const x of ticks(Math.max(0, from), to, width < 400 ? 3 : 5)) {
    if (X(x) > at.x + at.width - 8) continue;
    g.fillText(`${short(x)}${xUnit ? ` ${xUnit}` : ""}`, Math.max(X(x), at.x + 10), height - 8);
  }
  g.save();
  g.beginPath();
  g.rect(at.x, at.y - 2, at.width, at.height + 4);
  g.clip();
  for (const y of lines) {
    g.strokeStyle = colours.threshold;
    g.setLineDash([4, 3]);
    line(g, at.x, Y(y), at.x + at.width, Y(y));
    g.setLineDash([]);
  }
  for (const { points, colour, dash = [], wide = 1.4 } of series) {
    g.strokeStyle = colour;
    g.lineWidth = wide;
    g.setLineDash(dash);
    g.beginPath();
    let drawing = false;
    for (const [x, y] of points) {
      if (!Number.isFinite(y)) continue;
      if (drawing) g.lineTo(X(x), Y(y));
      else g.moveTo(X(x), Y(y));
      drawing = true;
    }
    g.stroke();
  }
  g.setLineDash([]);
  g.lineWidth = 1;
  g.restore();
  return { g, X, Y };
}

/** Round numbers between two, about `n` of them. */
function ticks(from, to, n) {
  const raw = (to - from) / n;
  if (!(raw > 0)) return [];
  const unit = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * unit).find((s) => s >= raw);
  const out = [];
  for (let x = Math.ceil(from / step) * step; x <= to + 1e-9 * step; x += step) out.push(Number(x.toPrecision(12)));
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
  const title = "Share marked (line) and dropped (dashed), by queue";
  const { g, X, Y } = plot(canvas, { from: 0, to: most, most: 1, unit: "", title, series, colours, xUnit: "" });
  for (const { now, colour } of sides) {
    if (!now.every(Number.isFinite)) continue;
    g.fillStyle = colour;
    g.strokeStyle = colours.paper;
    g.beginPath();
    g.arc(X(Math.min(most, now[0])), Y(now[1]), 5, 0, 7);
    g.fill();
    g.stroke();
  }
}
