// Opens each page of a directory in Chromium, light, dark and at 390 pixels, and says what is wrong with it: requests, violations of
// its policy, errors, overflow, labels that overlap, what axe finds, files too large and PDFs of too many
// pages. Pages whose names begin with `hostile-` have names of 10,000 characters: their size and PDF are not judged.
"use strict";
const fs = require("fs");
const path = require("path");
const { chromium } = require("playwright-core");
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const VIEWS = [
  { name: "light", width: 1200, height: 900, colorScheme: "light" },
  { name: "dark", width: 1200, height: 900, colorScheme: "dark" },
  { name: "390 px", width: 390, height: 844, colorScheme: "light" },
];
const MOST_PDF_PAGES = 12;
const MOST_BYTES = 300_000;
const MOST_CHOICES = 8;
const AT_ONCE = 2;
const ALL = Boolean(process.env.NARROWS_PAGES_ALL);
// What axe looks for: before a release everything in each view, every day what a view can change.
function audit(view, isHostile) {
  let options = {};
  // The dark view has other colours and nothing else.
  if (!ALL && view.colorScheme === "dark") options = { runOnly: ["color-contrast"] };
  // Names change no colour.
  else if (!ALL && isHostile) options = { rules: { "color-contrast": { enabled: false } } };
  return `axe.run(${JSON.stringify(options)}).then((r) => JSON.stringify(r.violations.map((v) => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 160)])))`;
}

// Boxes of texts of each drawing that is shown, and those that cover each other by more than a hair.
function measure() {
  const found = [];
  for (const svg of document.querySelectorAll("svg")) {
    if (!svg.getClientRects().length) continue;
    const texts = [...svg.querySelectorAll("text")].filter((text) => text.textContent.trim());
    const boxes = texts.map((text) => {
      const box = text.getBoundingClientRect();
      // A line box has room above and below its letters.
      return { left: box.left, right: box.right, top: box.top + box.height * 0.2, bottom: box.bottom - box.height * 0.2, text: text.textContent };
    });
    const frame = svg.getBoundingClientRect();
    for (const [at, a] of boxes.entries()) {
      if (a.left < frame.left - 1 || a.right > frame.right + 1) found.push(`"${a.text.slice(0, 60)}" leaves its drawing`);
      for (const b of boxes.slice(at + 1)) {
        if (a.left < b.right - 0.5 && b.left < a.right - 0.5 && a.top < b.bottom && b.top < a.bottom) {
          found.push(`"${a.text.slice(0, 60)}" and "${b.text.slice(0, 60)}" overlap`);
        }
      }
    }
  }
  return { found, scrolls: document.documentElement.scrollWidth, width: document.documentElement.clientWidth };
}

// What holds whatever the view is: nothing is loaded, nothing runs, no value is lost.
async function look(browser, file, wrong) {
  const isHostile = path.basename(file).startsWith("hostile-");
  const context = await browser.newContext();
  const page = await context.newPage();
  const own = "file://" + file;
  const say = (what) => wrong.push(`${path.basename(file)}, ${what}`);
  page.on("request", (request) => request.url() !== own && say(`request ${request.url()}`));
  page.on("pageerror", (error) => say(String(error)));
  page.on("dialog", (dialog) => (say(`dialog ${dialog.message()}`), dialog.dismiss()));
  page.on("console", (message) => message.type() === "error" && say(message.text()));
  await page.setViewportSize(VIEWS[0]);
  await page.goto(own);
  if (await page.evaluate(() => document.querySelectorAll("script, [style], [onload], [onerror], img, iframe, link").length)) {
    say("holds what runs or loads");
  }
  // By the protocol of the debugger, so that the page's policy stays on.
  const session = await context.newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: axe });
  for (const view of VIEWS) {
    await page.setViewportSize(view);
    await page.emulateMedia({ colorScheme: view.colorScheme });
    // Colours move nothing.
    if (view.colorScheme === "light") await see(page, (what) => say(`${view.name}: ${what}`));
    // Names change no colour: one view of a page of hostile names tells all. A narrow view has the colours of a wide one, and what axe
    // finds of its places is looked at before a release.
    if (isHostile && view !== VIEWS[0]) continue;
    if (view === VIEWS[2] && !ALL) continue;
    const expression = audit(view, isHostile);
    const answer = await session.send("Runtime.evaluate", { expression, awaitPromise: true });
    for (const [id, count, html] of JSON.parse(answer.result.value ?? "[]")) say(`${view.name}: axe ${id} (${count}): ${html}`);
    if (answer.exceptionDetails) say(`${view.name}: axe did not run: ${answer.exceptionDetails.text}`);
  }
  if (!isHostile) {
    await page.emulateMedia({ colorScheme: "light" });
    const pdf = await page.pdf({ format: "A4" });
    const pages = (pdf.toString("latin1").match(/\/Type\s*\/Page\b/g) || []).length;
    if (pages === 0 || pages > MOST_PDF_PAGES) say(`PDF of ${pages} pages`);
    const size = fs.statSync(file).size;
    if (size > MOST_BYTES) say(`${size} bytes`);
  }
  await context.close();
}

// Labels and widths in a view, with each choice of each figure.
async function see(page, say) {
  const choices = await page.$$("input[type=radio]");
  for (const choice of [null, ...choices.slice(0, MOST_CHOICES)]) {
    // A click of the mouse waits for a frame in which nothing moves, which a page behind another may not get for half a minute.
    if (choice) await choice.evaluate((input) => input.click());
    const { found, scrolls, width } = await page.evaluate(measure);
    for (const what of found) say(what);
    if (scrolls > width) say(`is ${scrolls} pixels wide, more than ${width}`);
  }
  for (const first of await page.$$("input[type=radio].show-0")) await first.evaluate((input) => input.click());
}

async function main() {
  const directory = path.resolve(process.argv[2]);
  const files = fs.readdirSync(directory).filter((name) => name.endsWith(".html")).sort();
  if (!files.length) throw new Error(`no page in ${directory}`);
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
  const wrong = [];
  const open = files.map((name) => path.join(directory, name));
  const work = async () => {
    for (let file = open.shift(); file; file = open.shift()) await look(browser, file, wrong);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  await browser.close();
  for (const line of [...new Set(wrong)].sort().slice(0, 100)) console.log(line.slice(0, 240));
  console.log(`${files.length} pages × ${VIEWS.length} views: ${wrong.length} things wrong`);
  process.exitCode = wrong.length ? 1 : 0;
}

main().catch((error) => {
  console.error(`error: ${error.message}`);
  // The browser would keep this waiting.
  process.exit(1);
});
