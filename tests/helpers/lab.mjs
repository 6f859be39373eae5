// Answers requests with the engine as WebAssembly. Arguments: the module. In: a JSON list of
// requests; out: a JSON list of answers, each as text.
import { readFileSync } from "node:fs";

const { instance } = await WebAssembly.instantiate(readFileSync(process.argv[2]), {});
const { memory, input, output, length, answer_at } = instance.exports;

function answer(request) {
  const bytes = new TextEncoder().encode(JSON.stringify(request));
  const place = input(bytes.length);
  new Uint8Array(memory.buffer, place, bytes.length).set(bytes);
  const ok = answer_at();
  const text = new TextDecoder().decode(new Uint8Array(memory.buffer, output(), length()));
  if (!ok) throw new Error(text);
  return text;
}

process.stdout.write(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(answer)));
