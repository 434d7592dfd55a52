// Python in a worker of its own, which can be ended when an answer does not end.
import { loadPyodide } from "./pyodide.mjs";

const base = new URL("./", import.meta.url).href;
const FILES = { "torch.py": "small_torch.py", "tokencredit.py": "small_course.py", "runner.py": "runner.py" };

// The large files are counted as they come, and what is packed is unpacked. Nothing is
// awaited at the top of this file: a message that came meanwhile would be lost.
const plain = self.fetch.bind(self);
const counted = async () => {
  const { sizes, info } = await (await plain(`${base}runtime.json`)).json();
  const total = Object.values(sizes).reduce((a, b) => a + b, 0);
  let got = 0;
  self.fetch = async (url, options) => {
    const name = String(url?.url ?? url).split("/").pop();
    const packed = `${name}.gz` in sizes;
    const answer = await plain(packed ? `${url}.gz` : url, packed ? {} : options);
    if (!answer.ok || !(packed || name in sizes)) return answer;
    const count = new TransformStream({
      transform(chunk, out) {
        got += chunk.byteLength;
        postMessage({ loaded: Math.min(1, got / total), total });
        out.enqueue(chunk);
      },
    });
    let body = answer.body.pipeThrough(count);
    if (packed) body = body.pipeThrough(new DecompressionStream("gzip"));
    const type = name.endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
    return new Response(body, { headers: { "content-type": type } });
  };
  return info;
};

const starting = (async () => {
  const info = await counted();
  const names = Object.keys(FILES);
  const [python, ...sources] = await Promise.all([
    loadPyodide({ indexURL: base, lockFileContents: { info, packages: {} }, checkAPIVersion: false }),
    ...names.map(async (name) => {
      const answer = await fetch(base + FILES[name]);
      if (!answer.ok) throw new Error(`${FILES[name]}: ${answer.status}`);
      return answer.text();
    }),
  ]);
  names.forEach((name, i) => python.FS.writeFile(`/home/pyodide/${name}`, sources[i]));
  return { python, runner: python.pyimport("runner") };
})();
starting.catch((error) => postMessage({ broken: String(error?.message ?? error).slice(0, 300) }));

onmessage = async ({ data: { id, cells, exercise, answers, asked } }) => {
  const { python, runner } = await starting;
  postMessage({ id, running: true });
  const began = performance.now();
  const given = python.toPy({ cells, answers, asked });
  const said = runner.check(given.get("cells"), exercise, given.get("answers"), given.get("asked"),
    (stage) => postMessage({ id, stage }));
  const result = said.toJs({ dict_converter: Object.fromEntries });
  said.destroy();
  given.destroy();
  postMessage({ id, result, ms: performance.now() - began, memory: python._module?.HEAPU8?.length });
};
