//! How the page looks.

/// Colours are those of the roofline picture; the second half is for dark paper.
pub(super) const STYLE: &str = r"
:root {
  --paper: #ffffff; --card: #f6f8fa; --ink: #1b1f24; --soft: #59636e; --line: #d9dee4;
  --bar: #9cc2ea; --best: #0b6bcb; --said: #bc6c00; --good: #1a7f37; --bad: #d1242f; --mark: #bc6c00;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #0f1318; --card: #171d24; --ink: #e8ecf1; --soft: #98a2ad; --line: #2a323c;
    --bar: #2b547c; --best: #5fb1ff; --said: #e3a13a; --good: #56d364; --bad: #ff7b72; --mark: #e3a13a;
  }
}
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 ui-sans-serif, system-ui, 'Segoe UI', Helvetica, Arial, sans-serif }
main { max-width: 1000px; margin: 0 auto; padding: 48px 20px 64px }
header { margin-bottom: 24px }
.kicker { margin: 0; color: var(--best); font-weight: 600; letter-spacing: 0.04em }
h1 { margin: 0; font-size: 34px; line-height: 1.2; letter-spacing: -0.015em }
h2 { margin: 44px 0 12px; font-size: 21px; letter-spacing: -0.005em }
h3 { margin: 26px 0 6px; font-size: 16px }
.devices, .soft { color: var(--soft) }
.devices { margin: 6px 0 0; overflow-wrap: anywhere }
.verdict { background: var(--card); border: 1px solid var(--line); border-left: 4px solid var(--best);
  border-radius: 8px; padding: 6px 22px }
.verdict p { font-size: 18px; margin: 12px 0 }
.verdict p.soft { font-size: 15px }
.soft { font-size: 15px }
table { border-collapse: collapse; width: 100%; font-size: 15px }
th { text-align: left; font-weight: 500; color: var(--soft) }
th, td { padding: 5px 14px 5px 0; border-bottom: 1px solid var(--line); vertical-align: baseline }
td.n, th.n { text-align: right; white-space: nowrap }
td:last-child, th:last-child { padding-right: 0 }
td:first-child { white-space: nowrap }
.n { font-variant-numeric: tabular-nums }
.good { color: var(--good) }
.off { color: var(--mark); font-weight: 600 }
.mark { color: var(--mark); fill: var(--mark); font-weight: 700 }
.wide { overflow-x: auto }
.failed { border-left: 4px solid var(--bad); padding-left: 18px }
ul { padding-left: 20px }
li { overflow-wrap: anywhere }
details { border-bottom: 1px solid var(--line); padding: 8px 0 }
summary { cursor: pointer }
footer { margin-top: 48px; color: var(--soft); font-size: 14px }
svg { display: block; width: 100%; height: auto }
svg text { font: 14.5px ui-sans-serif, system-ui, 'Segoe UI', Helvetica, Arial, sans-serif; fill: var(--ink) }
svg .soft { fill: var(--soft) }
svg .strong { font-weight: 650 }
.grid { stroke: var(--line); stroke-width: 1 }
.bar { fill: var(--bar) }
p.legend { color: var(--soft); font-size: 14px; margin: 8px 0 0 }
p.legend svg { display: inline-block; width: 26px; height: 14px; vertical-align: -1px; margin-left: 14px }
p.legend svg:first-child { margin-left: 0 }
.bar.best { fill: var(--best) }
.whisker { stroke: var(--ink); stroke-width: 1.6; fill: none }
.said { fill: var(--said); stroke: var(--paper); stroke-width: 1.2 }
@media print { main { padding: 0 } details { break-inside: avoid } }
";
