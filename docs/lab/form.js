// The form: a field for each key that the engine declares. Names, units, ranges and texts come from
// the declarations; nothing is written here again.
"use strict";

/** Types whose values are a number and a unit. */
const QUANTITIES = new Set(["duration", "rate", "size", "queue", "delay", "start"]);
/** A slider's steps. */
const STEPS = 400;
/** Keys that matter first, in this order; the others are under "More keys". */
const FIRST = [
  "min_th",
  "mid_th",
  "max_th",
  "target",
  "qdelay_ref",
  "latency_target",
  "rtt",
  "threshold",
  "q_ref",
  "q_target",
  "b_star",
  "interval",
  "max_p",
  "p1_max",
  "p2_max",
  "w_q",
  "gamma",
  "t_update",
  "ecn",
  "rate",
  "delay",
  "buffer",
  "flows",
  "tcp",
  "start",
];
/** A key in words: the first clause of what its declaration says of it. */
const words = (key) => key.doc.split(/[.;:]\s|[.;:]$| \(/)[0];

/** A quantity's number and unit: "1.5 Mbit/s". Returns null where it is no such text. */
function parted(text) {
  const found = /^([-+0-9.eE]+)\s*(.*)$/.exec(String(text ?? ""));
  return found && Number.isFinite(Number(found[1])) ? [Number(found[1]), found[2]] : null;
}

/** What a slider of a key covers: from, to, whether its steps are ratios, its unit. */
function span(key, value) {
  const whole = key.type === "int" || key.type === "queue";
  if (QUANTITIES.has(key.type)) {
    const [number, unit] = parted(value) ?? parted(key.default) ?? [NaN, ""];
    if (!(number > 0)) return null;
    const least = whole ? Math.max(1, Math.round(number / 16)) : number / 16;
    return { from: least, to: number * 16, ratio: true, unit, whole };
  }
  if (key.min === undefined) return null;
  const present = typeof value === "number" ? value : Number(key.default);
  const v = Number.isFinite(present) ? Math.abs(present) : 0;
  let [from, to] = [key.min, key.max];
  if (to > 1000 * Math.max(v, 1)) to = 8 * Math.max(v, 4);
  if (from < -1000 * Math.max(v, 1)) from = -to;
  const ratio = from >= 0 && !whole && (to <= 1 || to / Math.max(from, 1e-12) > 1000);
  if (ratio) from = Math.max(from, Math.min(v > 0 ? v / 100 : 1e-3 * to, 1e-3 * to));
  return { from, to, ratio, unit: "", whole };
}

const place = ({ from, to, ratio }, x) =>
  STEPS * (ratio ? Math.log(x / from) / Math.log(to / from) : (x - from) / (to - from));

function number({ from, to, ratio, whole }, step) {
  const part = step / STEPS;
  const x = ratio ? from * (to / from) ** part : from + (to - from) * part;
  if (whole) return Math.round(x);
  return Math.min(to, Math.max(from, Number(x.toPrecision(3))));
}

function element(name, attributes = {}, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key in made && typeof value !== "string") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...inside);
  return made;
}

/** What an automatic key shows. */
const shown = (value) =>
  value === null || value === undefined
    ? ""
    : typeof value === "object"
      ? JSON.stringify(value)
      : String(value);

/** A field of one key. `changed(path, text, last, id)` hears of every change; `last` when it is
 * let go. */
function field(group, key, prefix, changed) {
  const path = `${group.path}.${key.name}`,
    id = `${prefix}-${path}`,
    value = key.value;
  const automatic = value === null || value === undefined;
  const about = [
    key.doc,
    key.range && `Allowed: ${key.range}.`,
    automatic && key.auto && `Now automatic: ${key.auto}.`,
  ];
  const unit = key.unit && key.unit !== "1" ? `, ${key.unit}` : "";
  const row = element("div", { class: automatic ? "field automatic" : "field" });
  row.append(element("label", { for: id }, `${words(key)} `, element("code", {}, key.name), unit));
  const help = element(
    "small",
    { id: `${id}-about`, hidden: true },
    about.filter(Boolean).join(" "),
  );
  const wrong = element("small", {
    id: `${id}-wrong`,
    class: "wrong",
    role: "alert",
    hidden: true,
  });
  const described = {
    id,
    "aria-describedby": `${id}-about ${id}-wrong`,
    title: about.filter(Boolean).join("\n"),
  };
  const hear = (text, last) => changed(path, text, last, id);
  if (key.type === "bool") {
    const box = element("input", { ...described, type: "checkbox", checked: value === true });
    box.onchange = () => hear(String(box.checked), true);
    row.classList.add("tick");
    row.append(box);
  } else if (key.words && key.min === undefined) {
    const list = element("select", { ...described, class: "wide" });
    for (const word of key.words)
      list.append(element("option", { value: word, selected: word === value }, word));
    list.onchange = () => hear(list.value, true);
    row.append(list);
  } else {
    row.append(...numeric(key, described, hear));
  }
  row.append(wrong, help);
  const show = () => (help.hidden = false),
    hide = () => (help.hidden = !row.matches(":focus-within"));
  row.addEventListener("focusin", show);
  row.addEventListener("focusout", () => requestAnimationFrame(hide));
  return row;
}

/** A slider with a box, or a box alone where the value is no plain number. */
function numeric(key, described, hear) {
  const value = key.value,
    covers = span(key, value);
  const box = element("input", {
    type: "text",
    value: shown(value),
    placeholder: "automatic",
    "aria-label": `${key.name}, as text`,
  });
  box.onchange = () => box.value.trim() && hear(box.value.trim(), true);
  if (!covers) {
    box.classList.add("wide");
    for (const [name, text] of Object.entries(described)) box.setAttribute(name, text);
    box.removeAttribute("aria-label");
    return [box];
  }
  const present = parted(value ?? key.default)?.[0] ?? covers.from;
  const slider = element("input", {
    ...described,
    type: "range",
    min: "0",
    max: String(STEPS),
    step: "1",
  });
  slider.value = String(
    Math.round(place(covers, Math.max(covers.from, Math.min(covers.to, present)))),
  );
  const text = () =>
    `${number(covers, Number(slider.value))}${covers.unit ? ` ${covers.unit}` : ""}`;
  const say = () => slider.setAttribute("aria-valuetext", box.value || "automatic");
  say();
  slider.oninput = () => ((box.value = text()), say(), hear(box.value, false));
  slider.onchange = () => hear(box.value, true);
  // A value that was set elsewhere, in the picture or by a story.
  slider.show = (said) => {
    const found = parted(said);
    if (document.activeElement !== box) box.value = said;
    if (found)
      slider.value = String(
        Math.round(place(covers, Math.max(covers.from, Math.min(covers.to, found[0])))),
      );
    say();
  };
  return [slider, box];
}

/** Groups that are open at first. */
const OPEN = new Set(["aqm", "topology.bottleneck", "traffic.0"]);

/** Shows a key's new value in its field, or what is wrong with one, where the key has a field. */
function showField(id, value, wrong) {
  const input = document.getElementById(id),
    told = document.getElementById(`${id}-wrong`);
  if (!input) return false;
  told.hidden = !wrong;
  told.textContent = wrong ?? "";
  input.setAttribute("aria-invalid", String(Boolean(wrong)));
  if (wrong)
    for (let box = input.closest("details"); box; box = box.parentElement.closest("details"))
      box.open = true;
  else if (input.show) input.show(value);
  else if (input.type === "checkbox") input.checked = value === "true";
  else if (document.activeElement !== input) input.value = value;
  input.closest(".field").classList.remove("automatic");
  return true;
}

/** Writes the whole form. `sides`: of each slot its controls and its name. */
function writeForm(root, sides, changed) {
  const open = new Map([...root.querySelectorAll("details")].map((d) => [d.dataset.key, d.open]));
  const focused = document.activeElement?.id;
  root.replaceChildren();
  const groups = sides.flatMap(({ slot, told }) =>
    told.controls.map((group) => ({ slot, told, group, own: group.path === "aqm" })),
  );
  // The disciplines first. Both lanes share the network and its traffic.
  for (const { slot, told, group, own } of [
    ...groups.filter((g) => g.own),
    ...groups.filter((g) => !g.own && g.slot === 0),
  ]) {
    const key = own ? `${slot}-aqm` : group.path;
    const title = own ? `${group.title}: ${told.aqm}` : group.title;
    const box = element(
      "details",
      { "data-key": key, open: open.get(key) ?? OPEN.has(group.path) },
      element("summary", {}, title),
    );
    const change = (path, value, last, id) =>
      changed(own ? [slot] : sides.map((s) => s.slot), path, value, last, id);
    const more = element(
      "details",
      { "data-key": `${key}-more`, open: open.get(`${key}-more`) ?? false },
      element("summary", {}, "More keys"),
    );
    const shown = group.keys.filter((key) => key.name !== "kind" && key.name !== "reverse");
    const rank = (key) => FIRST.indexOf(key.name);
    const first = shown.filter((key) => rank(key) >= 0).sort((a, b) => rank(a) - rank(b));
    for (const key of first) box.append(field(group, key, String(slot), change));
    for (const key of shown)
      if (rank(key) < 0) more.append(field(group, key, String(slot), change));
    if (more.children.length > 1) box.append(more);
    root.append(box);
  }
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}
