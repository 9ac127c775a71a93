// Style of the report: light or dark by the reader's preference, black on white on paper, from 320 pixels up.

export const style = `
:root {
  color-scheme: light dark;
  --paper: #ffffff; --ink: #1b1f24; --quiet: #57606a; --rule: #d0d7de; --grid: #e4e8ec; --card: #f6f8fa;
  --s0: #0b62c4; --s1: #b3400a; --s2: #1a7f37; --s3: #8250df; --s4: #a4316f; --s5: #6b5d00;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #0f1318; --ink: #e6edf3; --quiet: #9da7b1; --rule: #3d444d; --grid: #262c34; --card: #171c23;
    --s0: #6cb0ff; --s1: #ff9a62; --s2: #56d37a; --s3: #c3a6ff; --s4: #ff8ac5; --s5: #e3cf5b;
  }
}
@media print {
  :root {
    color-scheme: light;
    --paper: #ffffff; --ink: #000000; --quiet: #444444; --rule: #999999; --grid: #dddddd; --card: #ffffff;
    --s0: #0b62c4; --s1: #b3400a; --s2: #1a7f37; --s3: #8250df; --s4: #a4316f; --s5: #6b5d00;
  }
  body { max-width: none; padding: 0; font-size: 10.5pt; }
  figure, tr, blockquote, .summary { break-inside: avoid; }
  h2, h3, caption { break-after: avoid; }
  svg { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  .scroll { overflow: visible; }
}
@page { margin: 18mm 16mm; }
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 60rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; overflow-wrap: anywhere;
}
h1 { font-size: 1.75rem; line-height: 1.25; margin: 0 0 .25rem; }
h2 { font-size: 1.3rem; margin: 2.75rem 0 .5rem; padding-top: .75rem; border-top: 1px solid var(--rule); }
h3 { font-size: 1.05rem; margin: 1.75rem 0 .25rem; }
p { margin: .5rem 0; max-width: 44rem; }
.quiet, caption, figcaption { color: var(--quiet); font-size: .9rem; }
.summary { background: var(--card); border: 1px solid var(--rule); border-radius: 6px; padding: .75rem 1rem; margin: 1rem 0; }
.summary p { margin: .25rem 0; }
figure { margin: 1rem 0; }
.figure { display: block; overflow: visible; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; margin: .75rem 0; font-variant-numeric: tabular-nums; }
caption { text-align: start; padding-bottom: .25rem; width: min(100%, calc(100vw - 2rem)); }
th, td { text-align: start; vertical-align: top; padding: .35rem .6rem .35rem 0; border-bottom: 1px solid var(--grid); overflow-wrap: normal; }
thead th { border-bottom: 1px solid var(--rule); font-weight: 600; }
tbody th { font-weight: 600; overflow-wrap: anywhere; min-width: 6rem; }
.n { text-align: end; white-space: nowrap; }
.time { white-space: nowrap; }
blockquote { margin: .75rem 0; padding: .1rem 0 .1rem .9rem; border-inline-start: 3px solid var(--rule); }
blockquote p { white-space: pre-wrap; margin: .1rem 0; }
.label { fill: var(--ink); font-size: 14px; font-weight: 600; }
.tick { fill: var(--quiet); font-size: 12px; }
.grid { stroke: var(--grid); stroke-width: 1; }
.mark { stroke: var(--quiet); stroke-width: 1; stroke-dasharray: 4 3; }
.whisker { stroke: var(--s0); stroke-width: 3; stroke-linecap: round; opacity: .55; }
.dot { fill: var(--s0); }
.line { fill: none; stroke-width: 2.5; vector-effect: non-scaling-stroke; }
.band { stroke: none; opacity: .14; }
.d1 { stroke-dasharray: 7 4; }
.d2 { stroke-dasharray: 2 3; }
.d3 { stroke-dasharray: 10 3 2 3; }
.bar { opacity: .3; }
.inbar { fill: var(--ink); font-size: 13px; }
.line.s0 { stroke: var(--s0); } .band.s0, .f0 { fill: var(--s0); }
.line.s1 { stroke: var(--s1); } .band.s1, .f1 { fill: var(--s1); }
.line.s2 { stroke: var(--s2); } .band.s2, .f2 { fill: var(--s2); }
.line.s3 { stroke: var(--s3); } .band.s3, .f3 { fill: var(--s3); }
.line.s4 { stroke: var(--s4); } .band.s4, .f4 { fill: var(--s4); }
.line.s5 { stroke: var(--s5); } .band.s5, .f5 { fill: var(--s5); }
`
