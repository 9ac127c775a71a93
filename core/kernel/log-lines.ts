// Lines that transforms and scripts write by `console`, in the form of records, answers and errors.
import { z } from "zod"
import { redactedText } from "./text-redaction.ts"

/** Lines of a transform or script by `console`: at most 20 for each run, with 500 characters each. */
export const LogLines = z
  .array(z.object({ level: z.enum(["debug", "info", "warn", "error"]), text: z.string() }))
  .describe("What it wrote by `console`, without the values of fields named like secrets.")
/** One console line. */
export type LogLine = z.output<typeof LogLines>[number]

// Lines by `console` in two forms: raw from the isolate, and redacted for storage and display.

/** One call of a `console` method: each value as text, objects as JSON. */
export interface WrittenLine {
  readonly level: LogLine["level"]
  readonly values: readonly string[]
}

const maxText = 500

/** Redacts each value separately, since JSON is detected by its first character. */
export function logLines(written: readonly WrittenLine[]): LogLine[] {
  return written.map(({ level, values }) => {
    const text = values.map(redactedText).join(" ")
    return { level, text: text.length > maxText ? `${text.slice(0, maxText)}…` : text }
  })
}
