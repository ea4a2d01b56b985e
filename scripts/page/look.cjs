// Tries the page in Chromium, from a disk: look.cjs PAGE DIRECTORY, with texts of cases in the directory. It asks nothing of any network;
// each example is answered; it can be used with the keyboard alone, at 390 pixels, light and dark; axe finds nothing; hostile pastes run
// nothing; a paste of 20 MB keeps nobody waiting; mistakes of a description are shown at their lines.
"use strict";
const fs = require("fs");
const path = require("path");
const { chromium } = require("playwright-core");
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const AUDIT =
  "axe.run().then((r) => JSON.stringify(r.violations.map((v) => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 160)])))";
const HOSTILE = [
  "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg onload=alert(1)>", "\"><iframe src=https://example.org>",
  "'style='background:url(https://example.org)", "javascript:alert(1)", "</textarea><script>alert(1)</script>", "\u202e\u0000\u001b[2J",
];
const MIB = 1 << 20;

async function main([file, directory]) {
  const own = "file://" + path.resolve(file);
  const wrong = [];
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 } });
  const page = await context.newPage();
  let requests = 0;
  page.on("request", (request) => request.url() !== own && !request.url().startsWith("blob:") && (requests += 1) && wrong.push(`request ${request.url()}`));
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("dialog", (dialog) => (wrong.push(`dialog ${dialog.message()}`), dialog.dismiss()));
  page.on("console", (message) => message.type() === "error" && wrong.push(message.text()));

  const answered = async (most = 20_000) => {
    const begin = Date.now();
    await page.waitForFunction(() => !/^$|^Reading/.test(document.getElementById("state").textContent), null, { timeout: most, polling: 20 });
    return Date.now() - begin;
  };
  const paste = async (text) => {
    await page.evaluate((text) => {
      document.getElementById("state").textContent = "";
      const field = document.getElementById("text-a");
      field.value = text;
      field.dispatchEvent(new Event("input"));
    }, text);
    return answered();
  };
  const look = async (what) => {
    const session = await context.newCDPSession(page);
    await session.send("Runtime.evaluate", { expression: axe });
    for (const [width, colorScheme] of [[1200, "light"], [1200, "dark"], [390, "light"]]) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      const answer = await session.send("Runtime.evaluate", { expression: AUDIT, awaitPromise: true });
      for (const [id, count, html] of JSON.parse(answer.result.value ?? "[]")) wrong.push(`${what}, ${width} ${colorScheme}: axe ${id} (${count}): ${html}`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      if (wide > 0) wrong.push(`${what}, ${width}: ${wide} pixels too wide`);
    }
    await page.setViewportSize({ width: 1200, height: 900 });
  };

  const begin = Date.now();
  await page.goto(own);
  const policy = await page.getAttribute("meta[http-equiv=Content-Security-Policy]", "content");
  if (!policy.startsWith("default-src 'none';") || /connect-src|unsafe-inline/.test(policy)) wrong.push(`policy ${policy}`);
  await look("empty");

  // The keyboard alone, to the first example and its answer.
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  const focused = await page.evaluate(() => document.activeElement.textContent);
  if (!focused.includes("slot")) wrong.push(`the second stop of the keyboard is ${focused}`);
  await page.keyboard.press("Enter");
  await answered();
  console.log(`first answer ${Date.now() - begin} ms after the page was opened, with its audit`);
  const count = await page.evaluate(() => document.querySelectorAll("#examples button").length);
  for (let at = 0; at < count; at += 1) {
    await page.evaluate((at) => {
      document.getElementById("state").textContent = "";
      document.querySelectorAll("#examples button")[at].click();
    }, at);
    await answered();
    const said = await page.evaluate(() => document.querySelectorAll("#answer .strong, #answer .finding").length);
    if (!said) wrong.push(`example ${at} has no answer`);
    await look(`example ${at}`);
  }

  // A log as people paste it.
  const log = fs.readFileSync(path.join(directory, "038-s2600bpb-x722-healthy/dmesg.txt"), "utf8");
  const first = await paste(log.repeat(Math.ceil(200_000 / log.length)).slice(0, 200_000));
  console.log(`a log of 200 kB: answered in ${first} ms, 250 of which wait for the last key`);

  // A description with a mistake, and without.
  await page.evaluate(() => document.getElementById("clear").click());
  await paste('format = "narrows/path/1"\nname = "x"\nsource = "x"\n[host.h]\ncpu = "x"\nfoo = 1\n');
  const mistakes = await page.textContent("#mistakes");
  if (!/line \d+/.test(mistakes)) wrong.push(`mistakes: ${mistakes}`);

  await paste("It is slow. Why?");
  if (!(await page.isVisible("#reply"))) wrong.push("nothing is asked for where nothing is recognised");

  const texts = fs.readdirSync(directory, { recursive: true }).map((name) => path.join(directory, String(name)))
    .filter((name) => /\.txt$/.test(name) && fs.statSync(name).size < 50_000).sort();
  for (const [at, name] of texts.filter((_, at) => at % 4 === 0).entries()) {
    // Words at places that differ from text to text become what would run.
    let word = at;
    const text = fs.readFileSync(name, "utf8").replace(/[A-Za-z][\w.-]{3,}/g, (found) => (word += 1) % 7 ? found : HOSTILE[word % HOSTILE.length]);
    await paste(text);
    const runs = await page.evaluate(() => document.querySelectorAll("#told script, #told [style], #told img, #told iframe, #told link, #told form").length
      + [...document.querySelectorAll("#told *")].filter((one) => [...one.attributes].some((it) => /^on|javascript:/i.test(it.name + it.value))).length);
    if (runs) wrong.push(`${name}: ${runs} things of a hostile paste could run`);
  }

  const line = fs.readFileSync(texts[0], "utf8");
  await page.evaluate(() => {
    window.longest = 0;
    let last = performance.now();
    window.ticks = setInterval(() => {
      const now = performance.now();
      window.longest = Math.max(window.longest, now - last);
      last = now;
    }, 20);
  });
  await page.evaluate(([line, size]) => {
    document.getElementById("state").textContent = "";
    const transfer = new DataTransfer();
    transfer.items.add(new File([line.repeat(Math.ceil(size / line.length))], "long.txt"));
    document.getElementById("text-a").value = "";
    document.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, cancelable: true }));
  }, [line, 20 * MIB]).catch((error) => wrong.push(String(error)));
  const took = await answered(120_000);
  const longest = await page.evaluate(() => (clearInterval(window.ticks), window.longest));
  console.log(`20 MiB: answered in ${took} ms, the page stood still for ${longest.toFixed(0)} ms at most: ${await page.textContent("#state")}`);
  if (longest > 1000) wrong.push(`the page stood still for ${longest} ms`);
  await browser.close();
  for (const line of [...new Set(wrong)].slice(0, 60)) console.log(line.slice(0, 300));
  console.log(`the page: ${count} examples, ${Math.ceil(texts.length / 4)} hostile pastes, ${requests} requests, ${wrong.length} things wrong`);
  process.exitCode = wrong.length ? 1 : 0;
}

main(process.argv.slice(2)).catch((error) => {
  console.error(`error: ${error.message}`);
  process.exit(1);
});
