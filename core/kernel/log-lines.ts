// What transforms and scripts wrote by `console`, as records, answers and errors tell it.
import { z } from "zod"
import { redactedText } from "./text-redaction.ts"

/** Lines that a transform or script wrote by `console`: at most 20 for each run, of 500 characters. */
export const LogLines = z
  .array(z.object({ level: z.enum(["debug", "info", "warn", "error"]), text: z.string() }))
  .describe("What it wrote by `console`, without the values of fields named like secrets.")
/** One of them. */
export type LogLine = z.output<typeof LogLines>[number]

// Lines that a transform or script wrote by `console`: as they come out of the isolate, and as they may be kept and shown.

/** One call of a method of `console`: each value as text, objects as JSON. */
export interface WrittenLine {
  readonly level: LogLine["level"]
  readonly values: readonly string[]
}

const maxText = 500

/** Each value is redacted by itself, since JSON is told from other text by how it begins. */
export function logLines(written: readonly WrittenLine[]): LogLine[] {
  return written.map(({ level, values }) => {
    const text = values.map(redactedText).join(" ")
    return { level, text: text.length > maxText ? `${text.slice(0, maxText)}…` : text }
  })
}
