// Asks the module of the page and the program the same, for every case of directories: equal.cjs MODULE PROGRAM DIRECTORY…
// Their JSON must be the same to the byte. A case is a directory of texts, or a text.
"use strict";
const fs = require("fs");
const path = require("path");
const { spawnSync } = require("child_process");
const { open } = require("./module.cjs");

// What is beside a case is no text of it.
const BESIDE = /^(case|expected)\.json$|\.md$/;

function texts(place) {
  if (fs.statSync(place).isFile()) return [path.dirname(place), [path.basename(place)]];
  const inside = fs.readdirSync(place, { recursive: true }).map(String).sort();
  return [place, inside.filter((name) => !BESIDE.test(path.basename(name)) && fs.statSync(path.join(place, name)).isFile())];
}

async function main([file, program, ...directories]) {
  let core = await open(file);
  let same = 0;
  let slowest = [0, ""];
  const wrong = [];
  const places = directories.flatMap((directory) => fs.readdirSync(directory).sort().map((name) => path.join(directory, name)));
  for (const place of places.filter((place) => !BESIDE.test(path.basename(place)))) {
    const [cwd, names] = texts(place);
    if (!names.length) continue;
    const run = spawnSync(path.resolve(program), [...names, "--json"], { cwd, maxBuffer: 1 << 28, encoding: "utf8" });
    const begin = performance.now();
    let answer;
    try {
      answer = core.ask(names.map((name) => ({ name, content: fs.readFileSync(path.join(cwd, name)) })));
    } catch (error) {
      wrong.push(`${place}: ${error}`);
      core = await open(file);
      continue;
    }
    const took = performance.now() - begin;
    if (took > slowest[0]) slowest = [took, place];
    // Where nothing is recognised the program shows the path to the file, which a page has not.
    const isNothing = !answer.json && run.stderr.includes("nothing was recognised");
    if (answer.json === run.stdout || isNothing) same += 1;
    else {
      const at = [...answer.json].findIndex((letter, at) => letter !== run.stdout[at]);
      wrong.push(`${place}: the page says ${JSON.stringify(answer.json.slice(Math.max(0, at - 60), at + 60))}, the program ${JSON.stringify(run.stdout.slice(Math.max(0, at - 60), at + 60))} ${run.stderr.slice(0, 200)}`);
    }
  }
  wrong.slice(0, 40).forEach((line) => console.log(line));
  console.log(`${same} of ${same + wrong.length} cases: the page says what the program says; the slowest answer took ${slowest[0].toFixed(0)} ms (${slowest[1]})`);
  process.exitCode = wrong.length || !same ? 1 : 0;
}

main(process.argv.slice(2));
