// Lines that a transform or script wrote by `console`: as they come out of the isolate, and as they may be kept and shown.
import type { LogLine } from "../../kernel/log-lines.ts"
import { redactedText } from "../../kernel/text-redaction.ts"

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
