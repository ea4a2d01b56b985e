// The module of the page, asked as the page asks it.
"use strict";
const fs = require("fs");

async function open(file) {
  const { exports: core } = (await WebAssembly.instantiate(fs.readFileSync(file), {})).instance;
  const u32 = (value) => Buffer.from(Uint32Array.of(value).buffer);
  // given: { side: 0 or 1, name, content }
  const ask = (given) => {
    const request = Buffer.concat(given.flatMap(({ side, name, content }) =>
      [Buffer.of(side ?? 0), u32(Buffer.byteLength(name)), Buffer.from(name), u32(content.length), content]));
    const at = core.reserve(request.length) >>> 0;
    Buffer.from(core.memory.buffer).set(request, at);
    const begin = core.answer() >>> 0;
    return JSON.parse(Buffer.from(core.memory.buffer, begin, core.length()).toString());
  };
  return { ask, bytes: () => core.memory.buffer.byteLength };
}

module.exports = { open };
