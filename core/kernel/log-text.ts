// Log lines for a person at a terminal: time, level, message, then what else was logged.
import { styleText } from "node:util"

const levels: Readonly<Record<number, readonly [string, Parameters<typeof styleText>[0]]>> = {
  10: ["trace", "dim"],
  20: ["debug", "dim"],
  30: ["info", "green"],
  40: ["warn", "yellow"],
  50: ["error", "red"],
  60: ["fatal", "red"],
}

/** One JSON line of the log as text, with its line break; other text is left unchanged. */
export function logText(line: string): string {
  const logged = parsed(line)
  if (!logged) return line
  const { level, time, msg = "", err, ...rest } = logged
  const [name, style] = levels[Number(level)] ?? [String(level), "dim"]
  const fields = Object.entries(rest).filter(([, value]) => !isList(value))
  const lists = Object.values(rest).filter(isList)
  const pairs = fields.map(([key, value]) => styleText("dim", `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`))
  const head = [styleText("dim", String(time).slice(11, 19)), styleText(style, name.padEnd(5)), String(msg), ...pairs].join(" ")
  return `${[head, ...lists.flat(), ...traceOf(err)].map((text, index) => (index === 0 ? text : indented(text))).join("\n")}\n`
}

function parsed(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** A line each, as problems are listed. */
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
