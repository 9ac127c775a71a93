// Standard technical English (CONTRIBUTING.md): wordings that readers stumble on do not spread. Each count may only fall;
// a commit that removes some lowers it here.
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import { projectRoot } from "./import-graph.ts"

const read = ["{client,core,plugins,templates}/**/*.{ts,js}", "{docs,plugins,templates}/**/*.md", "config/default.yaml", "*.md"]
const generated = /\.generated\.ts$|^docs\/(reference|rules|events)\//

interface Wording {
  readonly pattern: RegExp
  readonly instead: string
  /** Lines that still have it. */
  readonly left: number
}

const wordings: readonly Wording[] = [
  { pattern: /(?<!\b[Tt]here )\bis no (?!longer\b|more\b|less\b|way\b|point\b)[a-z]+/, instead: '"is not a …"', left: 94 },
  { pattern: /\b[Ww]hoever\b/, instead: "the noun: the caller, the client, the operator", left: 81 },
  { pattern: /\b(?:const|let|readonly) (?:most|least|longest)[A-Z]\w*/, instead: "maxX, minX", left: 39 },
]

describe("wording", () => {
  const files = globSync(read, { cwd: projectRoot }).filter((path) => !generated.test(path) && !path.includes("node_modules"))
  const lines = files.flatMap((path) =>
    readFileSync(join(projectRoot, path), "utf8")
      .split("\n")
      .map((text, index) => ({ at: `${path}:${index + 1}`, text: text.trim() })),
  )

  for (const { pattern, instead, left } of wordings)
    it(`says ${instead} in place of ${pattern.source}`, () => {
      const found = lines.filter(({ text }) => pattern.test(text)).map(({ at, text }) => `${at}: ${text}`)
      expect(found.length, `${left} lines may have it, and these do:\n${found.join("\n")}\n`).to.be.at.most(left)
    })
})
