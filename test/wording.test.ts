// The project avoids these wordings.
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import { projectRoot } from "./import-graph.ts"

const read = [
  "{build,client,core,plugins,templates,test}/**/*.{ts,tsx,js}",
  "{docs,plugins,templates,test}/**/*.md",
  "config/default.yaml",
  "*.md",
]
const generated = /\.generated\.ts$|^docs\/(reference|rules|events)\//

const wordings: readonly { readonly pattern: RegExp; readonly instead: string }[] = [
  { pattern: /(?<!\b[Tt]here )\b(?:is|are) no (?!longer\b|more\b|less\b|safer\b|way\b|point\b)[A-Za-z]+/, instead: '"is not a …"' },
  {
    pattern: /\b(?:that|which|what|text|it) (?:is|are) none\b|\bnone of now\b|\bthere (?:is|are) none of\b/,
    instead: "invalid, unknown, stale",
  },
  { pattern: /\b[Ww]hoever\b/, instead: "the noun: the caller, the client, the operator" },
  { pattern: /\b[Ww]hatever\b/, instead: "any, every, regardless of" },
  { pattern: /\bof a kind that\b|\bfor which there (?:is|are)\b/, instead: "the noun" },
  { pattern: /\bby then\b/, instead: "before, already" },
  { pattern: /\b(?:tried again|anew|under way|for good)\b/, instead: "retried, again, in flight or in progress, permanently" },
  { pattern: /\b(?:const|let|readonly) (?:most|least|longest)[A-Z]\w*/, instead: "maxX, minX" },
]

describe("wording", () => {
  const files = globSync(read, { cwd: projectRoot }).filter(
    (path) => !generated.test(path) && !path.includes("node_modules") && path !== "test/wording.test.ts",
  )
  const lines = files.flatMap((path) =>
    readFileSync(join(projectRoot, path), "utf8")
      .split("\n")
      .map((text, index) => ({ at: `${path}:${index + 1}`, text: text.trim() })),
  )

  for (const { pattern, instead } of wordings)
    it(`says ${instead} in place of ${pattern.source}`, () => {
      const violations = lines.filter(({ text }) => pattern.test(text)).map(({ at, text }) => `${at}: ${text}`)
      expect(violations, violations.join("\n")).to.deep.equal([])
    })

  it('says "does not exist", or "No … is", in messages, in place of "There is no"', () => {
    const message = /^(?!\/\/|\/?\*).*["'`][^"'`]*\b[Tt]here (?:is|are) no\b/
    const violations = lines
      .filter(({ at, text }) => !/^test\/|\.md:\d+$/.test(at) && message.test(text))
      .map(({ at, text }) => `${at}: ${text}`)
    expect(violations, violations.join("\n")).to.deep.equal([])
  })
})
