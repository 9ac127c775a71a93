// Documents that are large or wrong in thousands of places. The report stays small, and compiling never blocks the event loop for
// long.
import { expect } from "chai"
import { compile } from "../../../core/pipeline/compile.ts"
import { environment } from "../doubles.ts"

const count = 20_000
const numbered = (make: (n: number) => string) => Array.from({ length: count }, (_, n) => make(n))
const maxFindings = "unknown filters in every step"

const documents: Record<string, unknown> = {
  "60,000 unknown fields of a step": step(Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`unknown_${n}`, 1]))),
  "unknown fields of the document": {
    name: "x",
    pipeline: [],
    ...Object.fromEntries(
      numbered((n) => `f${n}`)
        .slice(0, 15_000)
        .map((key) => [key, 1]),
    ),
  },
  "unknown fields of a step": step(
    Object.fromEntries(
      numbered((n) => `f${n}`)
        .slice(0, 15_000)
        .map((key) => [key, 1]),
    ),
  ),
  "unknown filters": step({ body: numbered((n) => `{{ event.a | nope_${n} }}`).join("") }),
  "outputs in one text": step({ body: numbered((n) => `{{ event.a${n} }}`).join("") }),
  "outputs in many texts": step({ body: numbered((n) => `{{ event.a${n} }}`).slice(0, 15_000) }),
  [maxFindings]: {
    name: "x",
    pipeline: Array.from({ length: 100 }, (_, s) => ({
      type: "respond",
      body: numbered((n) => `{{ event.a | nope_${s}_${n} }}`).slice(0, 150),
    })),
  },
  "one long name": step({ ["k".repeat(400_000)]: 1 }),
  "a long name over many fields": step({
    body: 1,
    ["k".repeat(100_000)]: Object.fromEntries(
      numbered((n) => `f${n}`)
        .slice(0, 500)
        .map((key) => [key, "{{ nope }}"]),
    ),
  }),
}

function step(fields: object): unknown {
  return { name: "x", pipeline: [{ type: "respond", ...fields }] }
}

describe("hostile documents", () => {
  for (const [what, document] of Object.entries(documents)) {
    it(`are answered in little: ${what}`, async () => {
      const compilation = await compile(document, environment)
      expect(compilation.ok).to.equal(false)
      expect(compilation.findings.length).to.be.within(1, 101)
      const bytesLength = JSON.stringify(document).length
      expect(JSON.stringify(compilation.findings).length)
        .to.be.lessThan(4 * bytesLength + 65_536)
        .and.lessThan(100_000)
      if (what === maxFindings) expect(compilation.findings.at(-1)?.message).to.match(/^\d{4,} more findings are not shown/)
    })
  }
})
