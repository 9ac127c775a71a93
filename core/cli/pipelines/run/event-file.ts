// The file that `run` takes an event from: an event as tests write it, a captured request, or simply a body.
import { readFileSync } from "node:fs"
import { z } from "zod"
import { BootError } from "../../../kernel/config.ts"
import { parseText } from "../../../pipeline/parse.ts"
import { shownPath } from "../files.ts"
import { EventDocument } from "../test/test-document.ts"

const Captured = z.strictObject({
  method: z.string().optional(),
  url: z.string().optional(),
  headers: z.record(z.string(), z.string()),
  body: z.string(),
})

/** JSON or YAML. Throws BootError when it is neither. */
export function readEventFile(file: string): EventDocument {
  const { value, findings } = parseText(file === "-" ? readFileSync(0, "utf8") : readFileSync(file, "utf8"))
  if (value === undefined)
    throw new BootError(findings.map(({ line, column, message }) => `${shownPath(file)}:${line ?? 1}:${column ?? 1}: ${message}`))
  const captured = Captured.safeParse(value)
  if (captured.success) {
    const { url, headers, body } = captured.data
    const query = url !== undefined && URL.canParse(url) ? Object.fromEntries(new URL(url).searchParams) : {}
    // What was captured carries its own proof.
    return { body, headers, query, signed: false }
  }
  const event = EventDocument.safeParse(value)
  if (event.success && isEvent(value)) return event.data
  return { body: value as EventDocument["body"], headers: {}, query: {}, signed: true }
}

function isEvent(value: unknown): boolean {
  return typeof value === "object" && value !== null && ["body", "form", "body_file"].some((key) => key in value)
}
