"use strict";
const MODULE = "{{module}}";
const WORKER = {{worker}};
const EXAMPLES = {{examples}};
// So long after the last key the text is taken for finished, in milliseconds.
const PAUSE = 250;

const at = (id) => document.getElementById(id);
const sides = ["a", "b"];
const files = { a: [], b: [] };
let module, worker, response, timer;
let asked = 0;
let isBusy = false;
let isWaiting = false;

const say = (text) => (at("state").textContent = text);

async function unpacked() {
  const bytes = Uint8Array.from(atob(MODULE), (letter) => letter.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(plain).arrayBuffer());
}

// What went wrong in the worker ends it: its memory may be full, or half written.
function start() {
  const place = URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" }));
  worker = new Worker(place);
  URL.revokeObjectURL(place);
  worker.onmessage = ({ data }) => {
    isBusy = false;
    if (data.response && data.number === asked && !isWaiting) show(data.response);
    if (isWaiting) send();
  };
  worker.onerror = (error) => {
    error.preventDefault();
    worker.terminate();
    start();
    hide();
    say("This could not be read: it is too long for a browser, or narrows has a fault. Try a part of it.");
  };
  isBusy = true;
  worker.postMessage({ module, first: EXAMPLES[0].texts[0] });
}

function given() {
  const encoder = new TextEncoder();
  return sides.flatMap((name, side) => {
    if (side === 1 && at("other").hidden) return [];
    const text = at(`text-${name}`).value;
    const pasted = text.trim() ? [{ side, name: "", content: encoder.encode(text) }] : [];
    return [...pasted, ...files[name].map(({ name, content }) => ({ side, name, content }))];
  });
}

function send() {
  isWaiting = isBusy;
  if (isBusy) return;
  const all = given();
  asked += 1;
  if (!all.length) {
    hide();
    say("");
    return;
  }
  isBusy = true;
  say("Reading…");
  worker.postMessage({ number: asked, given: all });
}

function changed() {
  clearTimeout(timer);
  timer = setTimeout(send, PAUSE);
}

function hide() {
  response = undefined;
  at("told").hidden = true;
}

function items(list, texts) {
  list.replaceChildren(...texts.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
  list.hidden = !texts.length;
}

function show(answer) {
  response = answer;
  items(at("notes"), answer.notes);
  items(at("mistakes"), answer.mistakes.map(({ line, message, hint }) =>
    `${line ? `line ${line}: ` : ""}${message}${hint ? ` (${hint})` : ""}`));
  // Every foreign word in it is inert, and the policy of the page lets nothing run all the same.
  at("answer").innerHTML = answer.html;
  at("to-post").hidden = !answer.markdown;
  at("post-title").textContent = answer.html ? "To post where somebody asked" : "What to run, or to ask for";
  at("copy").hidden = !answer.markdown;
  at("save-json").hidden = at("save-page").hidden = !answer.json;
  reply();
  at("told").hidden = false;
  say(answer.html ? "" : answer.mistakes.length ? "The description has mistakes: " : "Not recognised: ");
  at("state").append(Object.assign(document.createElement("a"), { href: "#told", textContent: answer.html ? "Answered below" : "see below" }));
  const [mistake] = answer.mistakes;
  if (mistake && mistake.line) mark(mistake.line);
}

// Selects the line of a mistake, unless its author is about to write there.
function mark(line) {
  const text = at("text-a");
  if (document.activeElement === text) return;
  const lines = text.value.split("\n");
  const begin = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  text.setSelectionRange(begin, begin + (lines[line - 1] || "").length);
}

function reply() {
  if (response) at("reply").textContent = at("as-plain").checked ? response.plain : response.markdown;
}

function save(name, text, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

async function add(side, list) {
  for (const file of list) files[side].push({ name: file.name, content: new Uint8Array(await file.arrayBuffer()) });
  listed(side);
  changed();
}

function listed(side) {
  at(`files-${side}`).replaceChildren(...files[side].map((file) => {
    const item = Object.assign(document.createElement("li"), { textContent: file.name });
    const away = Object.assign(document.createElement("button"), { type: "button", textContent: "remove" });
    away.setAttribute("aria-label", `remove ${file.name}`);
    away.onclick = () => {
      files[side] = files[side].filter((other) => other !== file);
      listed(side);
      changed();
    };
    item.append(away);
    return item;
  }));
}

function other(isShown) {
  at("other").hidden = at("label-b").hidden = at("file-b").hidden = !isShown;
  at("compare").setAttribute("aria-expanded", String(isShown));
  at("compare").textContent = isShown ? "Do not compare" : "Compare with another";
  changed();
}

function fill([a, b]) {
  at("text-a").value = a;
  at("text-b").value = b || "";
  for (const side of sides) {
    files[side] = [];
    listed(side);
  }
  other(Boolean(b));
}

for (const side of sides) {
  at(`text-${side}`).addEventListener("input", changed);
  at(`file-${side}`).addEventListener("change", ({ target }) => add(side, target.files).then(() => (target.value = "")));
}
for (const { name, texts } of EXAMPLES) {
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: name });
  button.onclick = () => fill(texts);
  at("examples").append(button);
}
at("compare").onclick = () => other(at("other").hidden);
at("clear").onclick = () => (fill([""]), at("text-a").focus());
at("as-markdown").onchange = at("as-plain").onchange = reply;
at("copy").onclick = () => {
  // Without a clipboard (a page on a disk) the text is selected, to be copied by hand.
  const select = () => (getSelection().selectAllChildren(at("reply")), say("The answer is selected: copy it."));
  navigator.clipboard ? navigator.clipboard.writeText(at("reply").textContent).then(() => say("Copied."), select) : select();
};
at("save-json").onclick = () => save("narrows.json", response.json, "application/json");
at("save-page").onclick = () => save("narrows.html", response.page, "text/html");
document.addEventListener("dragover", (event) => (event.preventDefault(), document.body.classList.add("dropping")));
document.addEventListener("dragleave", () => document.body.classList.remove("dropping"));
document.addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  add(event.target.closest?.("#other") ? "b" : "a", event.dataTransfer.files);
});

unpacked().then((compiled) => {
  module = compiled;
  start();
  changed();
}, () => say("This browser cannot run narrows: it needs WebAssembly and DecompressionStream (since 2023)."));
