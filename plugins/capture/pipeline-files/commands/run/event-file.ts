// Reads the event file of `run`: an event in the format of tests, a captured request, or a plain body.
import { dirname, resolve } from "node:path"
import { z } from "zod"
import { CommandProblem } from "#core"
import { EventDocument, type SentEvent } from "#core/commands"
import { parseText } from "#core/engine"
import { readBytes, readText, shownPath } from "../files.ts"
import { requestOf } from "../test/fixtures.ts"

export interface Taken {
  readonly sent: SentEvent
  /** Detected content of the file, or a journalled execution. */
  readonly kind: "body" | "event" | "captured" | "execution"
  /** RFC 3339. Undefined: now. */
  readonly at?: string
}

const Envelope = z.strictObject({ ...EventDocument.shape, method: z.string().min(1).optional(), url: z.string().min(1).optional() })

/**
 * Reads JSON or YAML. An event or a captured request has only known fields, and more than a text `body`: `{ "body": "Hello" }` is
 * itself a body. Throws CommandProblem if the file cannot be read.
 */
export function readEventFile(file: string): Taken {
  const value = parsed(file)
  const envelope = Envelope.safeParse(value)
  if (!envelope.success || !isEnvelope(value as Record<string, unknown>)) return { sent: bodyOf(value), kind: "body" }
  const { method, url, ...event } = envelope.data
  const folder = file === "-" ? process.cwd() : dirname(resolve(file))
  const address = url === undefined ? undefined : addressOf(url)
  const query = { ...address?.query, ...event.query }
  const sent = { ...requestOf({ ...event, query }, folder), method: method?.toUpperCase() ?? "POST", url: address?.whole }
  const captured = method !== undefined || url !== undefined || (typeof event.body === "string" && Object.keys(event.headers).length > 0)
  return { sent, kind: captured ? "captured" : "event" }
}

/** Reads the whole file as the body, unchanged. */
export function readBodyFile(file: string): Taken {
  const type = /\.(txt|csv|xml)$/.test(file) ? "text/plain" : "application/json"
  const sent = { method: "POST", headers: { "content-type": type }, query: {}, body: readBytes(file, { orInput: true }) }
  return { sent: { ...sent, signWith: { secret: "" } }, kind: "body" }
}

function parsed(file: string): unknown {
  const { value, findings } = parseText(readText(file, { orInput: true }))
  if (value === null)
    throw new CommandProblem(`${shownPath(file)} holds no event. Write {} for an empty object; --body sends a file unchanged.`, 2)
  if (value !== undefined) return value
  const told = findings.map(({ line, column, message }) => `${shownPath(file)}:${line ?? 1}:${column ?? 1}: ${message}`)
  throw new CommandProblem(told.join("\n"), 2)
}

function isEnvelope(value: Readonly<Record<string, unknown>>): boolean {
  if (!["body", "form", "body_file", "headers"].some((key) => key in value)) return false
  return typeof value["body"] !== "string" || Object.keys(value).length > 1
}

function bodyOf(value: unknown): SentEvent {
  return requestOf({ body: value as EventDocument["body"], headers: {}, query: {}, signed: true }, "")
}

/** Reads a URL in a server's form: absolute, or only path and query. Some senders sign the absolute URL. */
function addressOf(url: string): { whole: string | undefined; query: Record<string, string> } {
  const read = URL.parse(url, "https://relative.invalid")
  return { whole: URL.canParse(url) ? url : undefined, query: Object.fromEntries(read?.searchParams ?? []) }
}
