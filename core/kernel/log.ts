// Logs with pino: one JSON object a line on stdout, or text on a terminal. Lines have the caller's request id and organization.
// Secrets are cut by field name at any depth, so a mistakenly logged object does not leak one.
import { styleText } from "node:util"
import pino, { type Logger as PinoLogger } from "pino"
import type { Clock } from "./clock.ts"
import { token } from "./di.ts"
import { isRecord, parsedJson } from "./json.ts"
import { isSecretName, redacted } from "./secret-names.ts"

/** A pino logger. */
export type Logger = PinoLogger

/** The service's log. Values of fields named like secrets are cut. Texts are not cut, so never put a secret into a text. */
export const Log = token<Logger>("Log")

const deepest = 6

export function createLog(level: string, destination?: { write(line: string): void } | undefined): Logger {
  const options = {
    level,
    base: {},
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: (error: unknown) => withoutSecrets(serialized(error), 0) },
    formatters: { log: cutEach },
  }
  const log: Logger = pino(options, destination ?? standardOutput())
  // Pino does not format the bindings of a child. Children inherit this method from their parent.
  const { child } = log
  log.child = function (this: Logger, bindings: object, given?: object) {
    return child.call(this, cutEach({ ...bindings }), given)
  } as Logger["child"]
  return log
}

/** Cuts each field except `err`, which has its own serializer. */
function cutEach(logged: Record<string, unknown>): Record<string, unknown> {
  const { err, ...rest } = logged
  const cut = withoutSecrets(rest, 0) as Record<string, unknown>
  return err === undefined ? cut : { ...cut, err }
}

/** Returns the destination of the service's log. Undefined: standard output, as JSON. `auto`: text on a terminal. */
export function logDestination(format: "auto" | "json" | "text"): { write(line: string): void } | undefined {
  if (format === "json" || (format === "auto" && !process.stdout.isTTY)) return undefined
  process.stdout.on("error", ignored)
  return { write: (line) => void process.stdout.write(logText(line)) }
}

/**
 * Writes to standard output. If writing fails (full disk, closed reader), lines wait within bounds and the service continues
 * without them. The same applies to output of commands and of the start.
 */
function standardOutput(): ReturnType<typeof pino.destination> {
  for (const stream of [process.stdout, process.stderr]) if (!stream.listeners("error").includes(ignored)) stream.on("error", ignored)
  const output = pino.destination({ dest: 1, sync: false, maxLength: 1_048_576 })
  const flush = output.flushSync.bind(output)
  // Otherwise the end of the process would retry the flush forever.
  output.on("error", () => {
    output.flushSync = () => undefined
  })
  output.on("drain", () => {
    output.flushSync = flush
  })
  return output
}

const ignored = () => undefined

/**
 * Returns a copy without secrets. Pino's own redaction uses lists of paths. It costs 70 to 200 µs a line here and matches only
 * one case of a name.
 */
function withoutSecrets(value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value
  if ("toJSON" in value) return value
  if (depth >= deepest) return "[deeper]"
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(item, depth + 1))
  const out: Record<string, unknown> = {}
  for (const [key, inner] of Object.entries(value instanceof Error ? serialized(value) : value)) {
    out[key] = isSecretName(key) && inner !== undefined ? redacted : withoutSecrets(inner, depth + 1)
  }
  return out
}

/** Returns message, type, stack, causes and own fields of an error. Other values are wrapped unchanged. */
function serialized(error: unknown): object {
  return error instanceof Error ? { ...pino.stdSerializers.err(error) } : { value: error }
}

// Log lines for a person at a terminal: time, level, message, then other fields.

const levels: Readonly<Record<number, readonly [string, Parameters<typeof styleText>[0]]>> = {
  10: ["trace", "dim"],
  20: ["debug", "dim"],
  30: ["info", "green"],
  40: ["warn", "yellow"],
  50: ["error", "red"],
  60: ["fatal", "red"],
}

/** Formats a JSON log line as text with a line break. Other text is unchanged. */
export function logText(line: string): string {
  const logged = parsedJson(line)
  if (!isRecord(logged)) return line
  const { level, time, msg = "", err, ...rest } = logged
  const [name, style] = levels[Number(level)] ?? [String(level), "dim"]
  const fields = Object.entries(rest).filter(([, value]) => !isList(value))
  const lists = Object.values(rest).filter(isList)
  const pairs = fields.map(([key, value]) => styleText("dim", `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`))
  const head = [styleText("dim", String(time).slice(11, 19)), styleText(style, name.padEnd(5)), String(msg), ...pairs].join(" ")
  return `${[head, ...lists.flat(), ...traceOf(err)].map((text, index) => (index === 0 ? text : indented(text))).join("\n")}\n`
}

/** Lists of problems are printed with one line each. */
function isList(value: unknown): value is string[] {
  return Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === "string")
}

function traceOf(err: unknown): string[] {
  if (typeof err !== "object" || err === null) return []
  const { stack, message } = err as { stack?: unknown; message?: unknown }
  return [String(stack ?? message ?? JSON.stringify(err))]
}

function indented(text: string): string {
  return text.replace(/^/gm, "         ")
}

const intervalMs = 10_000
/** Maximum number of remembered kinds. Beyond it all are forgotten and logged again. */
const maxKinds = 1_000

/** Log lines about recurring faults: one line per kind and interval, with the number of omitted lines. */
export class BoundedLog {
  readonly #log: Logger
  readonly #clock: Clock
  readonly #kinds = new Map<string, { since: number; omitted: number }>()

  constructor(log: Logger, clock: Clock) {
    this.#log = log
    this.#clock = clock
  }

  warn(kind: string, fields: object, message: string): void {
    this.#write("warn", kind, fields, message)
  }

  error(kind: string, fields: object, message: string): void {
    this.#write("error", kind, fields, message)
  }

  #write(level: "warn" | "error", kind: string, fields: object, message: string): void {
    const now = this.#clock.monotonic()
    const last = this.#kinds.get(kind)
    if (last && now - last.since < intervalMs) {
      last.omitted++
      return
    }
    if (this.#kinds.size >= maxKinds) this.#kinds.clear()
    this.#kinds.set(kind, { since: now, omitted: 0 })
    this.#log[level](last && last.omitted > 0 ? { ...fields, omitted: last.omitted } : fields, message)
  }
}
