//! How pages look: one style for all of them, on light and dark paper, on phones and in print.

/// The style of a page. It names no address and loads nothing.
pub(super) const STYLE: &str = r"
:root {
  --paper: #ffffff; --card: #f6f8fa; --ink: #1b1f24; --soft: #57606a; --line: #d0d7de;
  --bar: #9cc2ea; --best: #0b5cad; --said: #9a5b00; --good: #116329; --warn: #8a5000; --bad: #b3171f; --mark: #9a5b00;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #0f1318; --card: #171d24; --ink: #e8ecf1; --soft: #a3adb8; --line: #303a45;
    --bar: #2b547c; --best: #79bcff; --said: #e3a13a; --good: #56d364; --warn: #e3b341; --bad: #ff8f87; --mark: #e3a13a;
  }
}
* { box-sizing: border-box }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100% }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 ui-sans-serif, system-ui, 'Segoe UI', Helvetica, Arial, sans-serif }
main { max-width: 1000px; margin: 0 auto; padding: 40px 20px 64px }
:focus-visible { outline: 3px solid var(--best); outline-offset: 2px }
header { margin-bottom: 20px }
.kicker { margin: 0; color: var(--best); font-weight: 600; letter-spacing: 0.03em }
h1 { margin: 0; font-size: 30px; line-height: 1.2; letter-spacing: -0.01em; overflow-wrap: anywhere }
h2 { margin: 40px 0 10px; font-size: 21px }
h3, .l3 { margin: 24px 0 6px; font-size: 17px; overflow-wrap: anywhere }
h4, .l4 { margin: 18px 0 4px; font-size: 15px; overflow-wrap: anywhere }
p, li, dd, dt, td.b, th.b, td.note, summary { overflow-wrap: anywhere }
td, th { overflow-wrap: break-word }
p { margin: 6px 0 }
.verdict { background: var(--card); border: 1px solid var(--line); border-left: 4px solid var(--best);
  border-radius: 8px; padding: 8px 20px }
.verdict .strong, .verdict .warn, .verdict .good, .verdict .bad { font-size: 18px }
.faint { color: var(--soft); font-size: 15px }
.strong { font-weight: 650 }
.bad { color: var(--bad) }
.warn { color: var(--warn) }
.good { color: var(--good) }
b.bad, b.warn, b.good, td.bad, td.strong, th.bad { font-weight: 650 }
.in1 { padding-left: 18px }
.in2 { padding-left: 36px }
ul.said { margin: 4px 0; padding-left: 22px }
.finding { border: 1px solid var(--line); border-left: 5px solid var(--soft); border-radius: 6px;
  padding: 8px 16px; margin: 12px 0; break-inside: avoid }
.finding.fault { border-left-color: var(--bad) }
.finding.limit { border-left-color: var(--warn) }
.finding p { margin: 2px 0 }
.finding .word { font-weight: 700; letter-spacing: 0.03em }
.finding ul { margin: 4px 0; padding-left: 20px }
.finding .gain { font-weight: 700 }
.finding .advice li { color: var(--good) }
table { border-collapse: collapse; width: 100%; font-size: 15px }
caption { text-align: left; color: var(--soft); padding: 2px 0 4px }
th { text-align: left; font-weight: 500 }
thead th { color: var(--soft); vertical-align: bottom }
th, td { padding: 5px 14px 5px 0; border-bottom: 1px solid var(--line); vertical-align: baseline }
td.n, th.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }
td:last-child, th:last-child { padding-right: 0 }
td.note { padding-left: 18px; padding-bottom: 12px }
.d1 { padding-left: 18px } .d2 { padding-left: 36px } .d3 { padding-left: 54px } .d4 { padding-left: 72px }
.wide { overflow-x: auto; margin: 8px 0 }
.wide th[scope=row] { min-width: 8.5rem }
.wide td { min-width: 3rem }
.verdict + .verdict { margin-top: 12px }
svg.cell { display: block; width: 120px; height: 10px; fill: var(--bar) }
svg.cell.bad { fill: var(--bad) } svg.cell.warn { fill: var(--warn) } svg.cell.good { fill: var(--good) }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 18px; margin: 8px 0 }
dt { color: var(--soft) }
dd { margin: 0 }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: 10px 14px;
  white-space: pre-wrap; overflow-wrap: anywhere; font-size: 13px }
code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 0.92em }
details { border-bottom: 1px solid var(--line); padding: 8px 0 }
summary { cursor: pointer; font-weight: 600 }
figcaption { color: var(--soft); font-size: 15px; margin-top: 6px }
footer { margin-top: 44px; color: var(--soft); font-size: 14px }
article + article { border-top: 2px solid var(--line); margin-top: 48px; padding-top: 24px }
@media (max-width: 600px) {
  main { padding: 20px 14px 40px }
  h1 { font-size: 24px }
  td.note > * { position: sticky; left: 14px; max-width: calc(100vw - 46px) }
  dl { grid-template-columns: 1fr } dd { margin-bottom: 6px }
}
@media print {
  main { max-width: none; padding: 0 }
  nav { display: none }
  h2, h3, h4, figcaption, summary { break-after: avoid }
  tr, .finding, pre { break-inside: avoid }
  .wide { overflow: visible }
  article + article { break-before: page; border: 0 }
}
";
