// The input of a command's call: the file, then path parameters, then flags. Later values take precedence.
import { CommandProblem } from "../../kernel/command.ts"
import { isRecord, parsedJson } from "../../kernel/json.ts"
import { roundedInteger } from "../../kernel/rounded-integer.ts"
import { readAll, type Terminal } from "../../kernel/terminal.ts"
import { parseText } from "../../pipeline/parse.ts"
import { readGiven } from "../given-file.ts"

export interface GivenInput {
  readonly positional: readonly string[]
  /** Texts of the path parameters, in order. */
  readonly words: readonly (string | undefined)[]
  /** Values of flags by field. */
  readonly values: ReadonlyMap<string, unknown>
  readonly file: string | undefined
}

/** Throws CommandProblem for an unreadable file or a file without an object. The call reports missing fields. */
export async function readInput(given: GivenInput, terminal: Terminal): Promise<Record<string, unknown>> {
  const { positional, words, values, file } = given
  const input = file === undefined ? {} : objectOf(file, await textOf(file, terminal))
  for (const [index, name] of positional.entries()) if (words[index] !== undefined) input[name] = words[index]
  for (const [field, value] of values) input[field] = value
  return input
}

/** Reads JSON from a flag: inline, or `@file` with JSON or YAML (`@-`: standard input). */
export async function readJsonFlag(name: string, text: string, terminal: Terminal): Promise<unknown> {
  if (text.startsWith("@")) return documentOf(text.slice(1), await textOf(text.slice(1), terminal))
  try {
    const value: unknown = JSON.parse(text)
    refuseRounded(name, text)
    return value
  } catch (error) {
    if (error instanceof CommandProblem) throw error
    const hint = "Quote it for the shell, or name a file: @file.json."
    throw new CommandProblem(`${name}: ${shortened(text)} is not JSON: ${(error as Error).message}. ${hint}`)
  }
}

async function textOf(file: string, terminal: Terminal): Promise<string> {
  return file === "-" ? await readAll(terminal.stdin) : readGiven(file).toString("utf8")
}

function objectOf(file: string, text: string): Record<string, unknown> {
  const value = documentOf(file, text)
  if (!isRecord(value)) {
    throw new CommandProblem(`${file} must hold an object (JSON or YAML) with the fields of the input.`)
  }
  return { ...value }
}

/** Parses JSON, else YAML. A YAML parser reads some JSON differently, for example keys beyond 1,024 characters. */
function documentOf(file: string, text: string): unknown {
  const json = parsedJson(text)
  if (json !== undefined) {
    refuseRounded(file, text)
    return json
  }
  const { value, findings } = parseText(text)
  const [first] = findings
  if (value !== undefined || !first) return value
  const place = first.line === undefined ? "" : ` (line ${first.line}, column ${first.column ?? 1})`
  throw new CommandProblem(`${file} is neither JSON nor YAML: ${first.message}${place}`)
}

/** The text must be JSON. */
function refuseRounded(from: string, text: string): void {
  const rounded = roundedInteger(text)
  if (!rounded) return
  const digits = shortened(rounded.digits)
  throw new CommandProblem(`${from}: a number cannot hold the integer ${digits} of "${rounded.field}" exactly. Put it in quotation marks.`)
}

function shortened(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
