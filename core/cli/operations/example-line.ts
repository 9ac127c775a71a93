// An operation's examples as command lines, for its help.
import { fulfilled } from "../../contract/example.ts"
import type { AnyOperation } from "../../contract/operation.ts"
import { type Flag, flagsOf } from "./flags.ts"

/** A longer line is better kept in a file. */
const longest = 240

/** The lines, without those that would be long; `command` is `millrace datasets create`. */
export function exampleLines(operation: AnyOperation, command: string): string[] {
  const { flags, positional } = flagsOf(operation)
  return (operation.examples ?? [])
    .map(({ input }) => {
      const given = fulfilled(input, (_path, field) => new Placeholder(field)) as Record<string, unknown>
      const words = positional.map((name) => quoted(given[name]))
      const named = flags.filter(({ field }) => !positional.includes(field) && given[field] !== undefined)
      return [command, ...words, ...named.flatMap((flag) => said(flag, given[flag.field]))].join(" ")
    })
    .filter((line) => line.length <= longest)
}

/** What only the caller knows. */
class Placeholder {
  readonly field: string

  constructor(field: string) {
    this.field = field
  }
}

function said({ name, kind, list }: Flag, value: unknown): string[] {
  if (kind === "boolean" && !list) return [value === false ? name.replace(/^--/, "--no-") : name]
  if (list && Array.isArray(value)) return value.map((one) => `${name} ${quoted(one)}`)
  return [`${name} ${kind === "json" && !(value instanceof Placeholder) ? shell(JSON.stringify(value)) : quoted(value)}`]
}

function quoted(value: unknown): string {
  if (value instanceof Placeholder) return `<${value.field.replaceAll("_", "-")}>`
  return shell(typeof value === "string" ? value : JSON.stringify(value))
}

function shell(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
