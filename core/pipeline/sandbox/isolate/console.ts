// `console` for transforms and scripts. Its lines belong to their event, within limits. The next event starts without lines.
import type { WrittenLine } from "../../../kernel/log-lines.ts"

const maxLines = 20
const maxValues = 10
/** Maximum characters per value. The shown part of a line is shorter. */
const maxText = 1_000

let lines: WrittenLine[] = []
let leftOut = 0

/** Call this before the world is frozen. */
export function installConsole(): void {
  const levels = { debug: "debug", info: "info", log: "info", warn: "warn", error: "error" } as const
  const methods = Object.entries(levels).map(([name, level]) => {
    const method = { [name]: (...values: unknown[]) => write(level, values) }[name]
    return [name, { value: method, writable: true, enumerable: true, configurable: true }] as const
  })
  const console = Object.defineProperties({}, Object.fromEntries(methods))
  Object.defineProperty(globalThis, "console", { value: console, writable: true, configurable: true })
}

export function forgetLines(): void {
  if (lines.length === 0) return
  lines = []
  leftOut = 0
}

/** Returns the lines since the last `forgetLines` as a JSON list, or "" without lines. */
export function linesText(): string {
  if (lines.length === 0) return ""
  const more: WrittenLine[] = leftOut === 0 ? [] : [{ level: "warn", values: [`${leftOut} more lines were left out.`] }]
  return JSON.stringify([...lines, ...more])
}

function write(level: WrittenLine["level"], values: readonly unknown[]): void {
  if (lines.length === maxLines) {
    leftOut++
    return
  }
  lines.push({ level, values: values.slice(0, maxValues).map((value) => shown(value).slice(0, maxText)) })
}

/** A value may have its own getters, and a `toJSON` that throws or writes. */
function shown(value: unknown): string {
  try {
    if (value instanceof Error) return `${value.name}: ${value.message}`
    if (typeof value === "object" && value !== null) return String(JSON.stringify(value))
    return String(value)
  } catch {
    return "(a value that cannot be shown)"
  }
}
