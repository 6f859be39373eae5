// Drives the lab's worker without a browser. Arguments: the worker, the module. In: JSON with `toml`
// and `kinds`; out: JSON with what it saw.
import { readFileSync } from "node:fs";
import vm from "node:vm";

const said = [];
const self = { postMessage: (message) => said.push(message) };
const names = { self, performance, TextEncoder, TextDecoder, WebAssembly, Uint8Array, Float64Array, Float32Array, Uint32Array };
const context = vm.createContext(names);
vm.runInContext(readFileSync(process.argv[2], "utf8"), context);

async function ask(request) {
  await self.onmessage({ data: request });
  const answer = said.pop();
  if (answer.do === "failed") throw new Error(answer.message);
  return answer;
}

/** Runs slot 0 up to a time. Returns the last frame; the times of its points go to `times`. */
let real = 0;
async function run(until, times = []) {
  for (;;) {
    const [frame] = (await ask({ do: "frame", real: (real += 50) })).slots;
    for (let i = 0; i < frame.points.length; i += frame.fields) times.push(frame.points[i]);
    if (frame.now > until && frame.catching === 1) return frame;
  }
}

const { toml, kinds } = JSON.parse(readFileSync(0, "utf8"));
await ask({ do: "start", wasm: readFileSync(process.argv[3]) });
await ask({ do: "play", playing: true, speed: 20 });
const changes = [
  ["traffic.0.flows", "30"],
  ["aqm.max_p", "0.3"],
  ["topology.bottleneck.rate", "5 Mbit/s"],
  ["aqm.max_p", "0.5"],
  ["aqm.kind", "codel"],
  ["traffic.0.flows", "10"],
  ["aqm.kind", "red"],
];
const times = [], did = [], states = [];
await ask({ do: "open", slot: 0, toml });
let until = 3;
for (const [path, value] of changes) {
  states.push((await run((until += 3), times)).state);
  did.push((await ask({ do: "set", slot: 0, path, value })).did);
}
// What waits, by number, as soon as a few packets do.
const waiting = "slots[0].waiting.slice(slots[0].head).map((p) => p.place)";
let places = [];
while (places.length < 6) {
  await run((until += 0.1), times);
  places = vm.runInContext(waiting, context);
}
const last = await run(until + 3, times);
const swapped = { waiting: last.waiting, ...last.totals };
const frames = {};
for (const aqm of kinds) {
  await ask({ do: "open", slot: 0, toml, aqm });
  const { waiting, totals } = await run(4);
  frames[aqm] = { waiting, ...totals };
}
process.stdout.write(JSON.stringify({ times, did, states, places, swapped, frames }));
