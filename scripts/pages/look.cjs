// Opens each page of a directory in Chromium, light, dark and at 390 pixels, and says what is wrong with it: requests, violations of
// its policy, errors, overflow, labels that overlap, what axe finds, values that differ, and PDFs of too many pages.
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

// Boxes of texts of each drawing that is shown, and those that cover each other by more than a hair.
function overlaps() {
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
  return found;
}

async function look(browser, file, view, wrong) {
  const context = await browser.newContext({ viewport: view, colorScheme: view.colorScheme });
  const page = await context.newPage();
  const where = `${path.basename(file)}, ${view.name}`;
  const own = "file://" + file;
  page.on("request", (request) => request.url() !== own && wrong.push(`${where}: request ${request.url()}`));
  page.on("pageerror", (error) => wrong.push(`${where}: ${error}`));
  page.on("dialog", (dialog) => (wrong.push(`${where}: dialog ${dialog.message()}`), dialog.dismiss()));
  page.on("console", (message) => message.type() === "error" && wrong.push(`${where}: ${message.text()}`));
  await page.goto(own);
  if (await page.evaluate(() => document.querySelectorAll("script, [style], [onload], [onerror], img, iframe, link").length)) {
    wrong.push(`${where}: holds what runs or loads`);
  }
  const choices = await page.$$("input[type=radio]");
  for (const choice of [null, ...choices.slice(0, 8)]) {
    if (choice) await choice.check();
    for (const found of await page.evaluate(overlaps)) wrong.push(`${where}: ${found}`);
    const [scrolls, width] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
    if (scrolls > width) wrong.push(`${where}: is ${scrolls} pixels wide, more than ${width}`);
  }
  // By the protocol of the debugger, so that the page's policy stays on.
  const session = await context.newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: axe });
  const answer = await session.send("Runtime.evaluate", {
    expression: "axe.run().then((r) => JSON.stringify(r.violations.map((v) => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 160)])))",
    awaitPromise: true,
  });
  for (const [id, count, html] of JSON.parse(answer.result.value ?? "[]")) wrong.push(`${where}: axe ${id} (${count}): ${html}`);
  if (answer.exceptionDetails) wrong.push(`${where}: axe did not run: ${answer.exceptionDetails.text}`);
  if (view.name === "light") {
    const pdf = await page.pdf({ format: "A4" });
    const pages = (pdf.toString("latin1").match(/\/Type\s*\/Page\b/g) || []).length;
    if (pages === 0 || pages > MOST_PDF_PAGES) wrong.push(`${where}: PDF of ${pages} pages`);
  }
  await context.close();
}

async function main() {
  const directory = path.resolve(process.argv[2]);
  const files = fs.readdirSync(directory).filter((name) => name.endsWith(".html")).sort();
  if (!files.length) throw new Error(`no page in ${directory}`);
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
  const wrong = [];
  for (const name of files) for (const view of VIEWS) await look(browser, path.join(directory, name), view, wrong);
  await browser.close();
  for (const line of wrong.slice(0, 60)) console.log(line);
  console.log(`${files.length} pages × ${VIEWS.length} views: ${wrong.length} things wrong`);
  process.exitCode = wrong.length ? 1 : 0;
}

main().catch((error) => {
  console.error(`error: ${error.message}`);
  process.exitCode = 1;
});
