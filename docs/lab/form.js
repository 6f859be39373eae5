// The form: a field for each key that the engine declares. Names, units, ranges and texts come from
// the declarations; nothing is written here again.
"use strict";

/** Types whose values are a number and a unit. */
const QUANTITIES = new Set(["duration", "rate", "size", "queue", "delay", "start"]);
/** A slider's steps. */
const STEPS = 400;

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

const place = ({ from, to, ratio }, x) => STEPS * (ratio ? Math.log(x / from) / Math.log(to / from) : (x - from) / (to - from));

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
const shown = (value) => (value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));

/** A field of one key. `changed(path, text, last)` hears of every change; `last` when it is let go. */
function field(group, key, prefix, changed) {
  const path = `${group.path}.${key.name}`, id = `${prefix}-${path}`, value = key.value;
  const automatic = value === null || value === undefined;
  const about = [key.doc, key.range && `Allowed: ${key.range}.`, automatic && key.auto && `Now automatic: ${key.auto}.`];
  const unit = key.unit && key.unit !== "1" ? ` (${key.unit})` : "";
  const row = element("div", { class: automatic ? "field automatic" : "field" });
  row.append(element("label", { for: id }, key.name + unit));
  const help = element("small", { id: `${id}-about`, hidden: true }, about.filter(Boolean).join(" "));
  const described = { id, "aria-describedby": `${id}-about`, title: about.filter(Boolean).join("\n") };
  if (key.type === "bool") {
    const box = element("input", { ...described, type: "checkbox", checked: value === true });
    box.onchange = () => changed(path, String(box.checked), true);
    row.append(box);
  } else if (key.words && key.min === undefined) {
    const list = element("select", { ...described, class: "wide" });
    for (const word of key.words) list.append(element("option", { value: word, selected: word === value }, word));
    list.onchange = () => changed(path, list.value, true);
    row.append(list);
  } else {
    row.append(...numeric(path, key, described, changed));
  }
  row.append(help);
  const show = () => (help.hidden = false), hide = () => (help.hidden = !row.matches(":focus-within"));
  row.addEventListener("focusin", show);
  row.addEventListener("focusout", () => requestAnimationFrame(hide));
  return row;
}

/** A slider with a box, or a box alone where the value is no plain number. */
function numeric(path, key, described, changed) {
  const value = key.value, covers = span(key, value);
  const box = element("input", { type: "text", value: shown(value), placeholder: "automatic", "aria-label": `${key.name}, as text` });
  box.onchange = () => box.value.trim() && changed(path, box.value.trim(), true);
  if (!covers) {
    box.classList.add("wide");
    for (const [name, text] of Object.entries(described)) box.setAttribute(name, text);
    box.removeAttribute("aria-label");
    return [box];
  }
  const present = parted(value ?? key.default)?.[0] ?? covers.from;
  const slider = element("input", { ...described, type: "range", min: "0", max: String(STEPS), step: "1" });
  slider.value = String(Math.round(place(covers, Math.max(covers.from, Math.min(covers.to, present)))));
  const text = () => `${number(covers, Number(slider.value))}${covers.unit ? ` ${covers.unit}` : ""}`;
  const say = () => slider.setAttribute("aria-valuetext", box.value || "automatic");
  say();
  slider.oninput = () => ((box.value = text()), say(), changed(path, box.value, false));
  slider.onchange = () => changed(path, box.value, true);
  return [slider, box];
}

/** Groups that are open at first. */
const OPEN = new Set(["aqm", "topology.bottleneck", "traffic.0"]);

/** Writes the whole form. `sides`: of each slot its controls and its name. */
function writeForm(root, sides, changed) {
  const open = new Map([...root.querySelectorAll("details")].map((d) => [d.dataset.key, d.open]));
  const focused = document.activeElement?.id;
  root.replaceChildren();
  sides.forEach(({ slot, told }) => {
    for (const group of told.controls) {
      const own = group.path === "aqm";
      if (slot === 1 && !own) continue; // both share the network and its traffic
      const key = own ? `${slot}-aqm` : group.path;
      const title = own ? `${group.title}: ${told.aqm}` : group.title;
      const box = element("details", { "data-key": key, open: open.get(key) ?? OPEN.has(group.path) }, element("summary", {}, title));
      const change = (path, value, last) => changed(own ? [slot] : sides.map((s) => s.slot), path, value, last);
      const more = element("details", { "data-key": `${key}-more`, open: open.get(`${key}-more`) ?? false }, element("summary", {}, "More keys"));
      for (const each of group.keys) {
        if (each.name === "kind" || each.name === "reverse") continue;
        (each.main ? box : more).append(field(group, each, String(slot), change));
      }
      if (more.children.length > 1) box.append(more);
      root.append(box);
    }
  });
  if (focused) document.getElementById(focused)?.focus();
}
