// Finds parts of a request schema that validators ignore. An unknown format or keyword has no effect, so a misspelt keyword
// accepts invalid bodies.
import { didYouMean } from "../../kernel/guess.ts"
import type { Report } from "../compile/report.ts"
import { childPointer, type RuleId } from "../findings.ts"
import { formatNames } from "../sandbox/format-names.ts"
import { eachSchema, schemaKeywords } from "../sandbox/json-schema.ts"

const knownFormats: readonly string[] = formatNames
/** Annotations of OpenAPI. They resemble keywords but are intentional. */
const annotations = ["example", "nullable"]
const known = new Set([...schemaKeywords, ...annotations])
/** Shorter words resemble too many others. */
const guessable = schemaKeywords.filter((keyword) => keyword.length > 3)
const maxGuessedLength = 40
const maxGuesses = 1_000
const maxFindings = 20

export function lintRequestSchema(schema: unknown, report: Report): void {
  const hints = new Map<string, string>()
  const hintOf = (keyword: string): string => {
    const hint = hints.get(keyword)
    if (hint !== undefined) return hint
    // Skips extensions and generated names.
    const isGuessed = !keyword.startsWith("x-") && keyword.length <= maxGuessedLength && hints.size < maxGuesses
    const made = isGuessed ? didYouMean(keyword, guessable) : ""
    hints.set(keyword, made)
    return made
  }
  const found: [rule: RuleId, pointer: string, message: string][] = []
  eachSchema(schema, (fields, pointer) => {
    if (found.length >= maxFindings) return
    const { format } = fields
    if (typeof format === "string" && !knownFormats.includes(format)) {
      const hint = format.length <= maxGuessedLength ? didYouMean(format, knownFormats) : ""
      found.push(["unknown-format", `${pointer}/format`, `The format "${format}" does not exist, so it would check nothing.${hint}`])
    }
    for (const keyword of Object.keys(fields)) {
      const hint = known.has(keyword) ? "" : hintOf(keyword)
      if (hint !== "")
        found.push(["unknown-keyword", childPointer(pointer, keyword), `JSON Schema has no keyword "${keyword}", so it is ignored.${hint}`])
    }
  })
  for (const [rule, pointer, message] of found.slice(0, maxFindings)) report.add(rule, `/request_schema${pointer}`, message)
}
