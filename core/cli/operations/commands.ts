// `millrace <area> <verb>`: a command for every operation, with flags from its input schema.
import { type Command, Option } from "commander"
import { ClientError } from "../../client/error.ts"
import type { Fields } from "../../client/route.ts"
import { type AnyOperation, fulfilled, Operations } from "../../contract/operation.ts"
import { CommandProblem } from "../../kernel/command.ts"
import type { Registry } from "../../kernel/registry.ts"
import { OutputLost, type Terminal } from "../../kernel/terminal.ts"
import { clientRoute } from "../client-operations.ts"
import { byName } from "../markdown.ts"
import { type OwnService, targetLine, targetOf } from "../profiles.ts"
import { type Flag, flagsOf, parseFlag, placeholderOf, positionalOf } from "./flags.ts"
import { describeError, errorAsJson, exitCodeOf, exitCodesHelp, problemAsJson } from "./problem.ts"
import { readInput, readJsonFlag } from "./read-input.ts"
import { runOperation } from "./run.ts"

export interface CommandContext {
  readonly terminal: Terminal
  readonly exit: (code: number) => void
  /** The service of this folder. */
  readonly own?: () => Promise<OwnService | undefined>
  /** Calls an operation as the operator of this folder's service. */
  readonly asOperator: (operation: AnyOperation, input: Fields) => Promise<unknown>
}

interface OwnOptions {
  readonly file?: string
  readonly json?: boolean
  readonly all?: boolean
  readonly output?: string
  readonly profile?: string
  readonly organization?: string
  readonly operator?: boolean
}

/**
 * Adds commands for all operations. With `line`, adds only the verbs and flags for the words of this command line: adding all
 * flags takes half of a command's start.
 */
export function addOperationCommands(program: Command, registry: Registry, context: CommandContext, line?: readonly string[]): void {
  const operations = byName(
    registry.items(Operations).filter(({ cli }) => !cli),
    ({ name }) => name,
  )
  const areas = Map.groupBy(operations, ({ name }) => dashed(name.split(".")[0] ?? name))
  for (const [area, inArea] of areas) {
    const verbs = inArea.map(({ name }) => verbOf(name))
    const group = program.commands.find((command) => command.name() === area) ?? program.command(area).description(`${verbs.join(", ")}.`)
    if (line && !line.includes(area)) continue
    for (const operation of inArea) {
      const command = addCommand(group, operation)
      if (!line || line.includes(command.name())) addFlags(command, group.name(), operation, context)
      // Adds the mark for options to the area's help.
      else command.addOption(fileOption())
    }
  }
}

/** Adds a command with its part of the area's help. */
function addCommand(group: Command, operation: AnyOperation): Command {
  const { summary, description, access } = operation
  const alone = access.withoutOrganization && "A signed-in person needs no organization."
  const command = group.command(verbOf(operation.name)).description([summary, description, alone].filter(Boolean).join("\n\n"))
  command.summary(summary)
  for (const name of positionalOf(operation)) command.argument(`[${name}]`)
  return command
}

function fileOption(): Option {
  return new Option("--file <file>", "the input as JSON or YAML; - is standard input; flags take precedence")
}

function addFlags(command: Command, area: string, operation: AnyOperation, context: CommandContext): void {
  const flags = flagsOf(operation)
  const positional = positionalOf(operation)
  const route = clientRoute(operation)
  for (const argument of command.registeredArguments)
    argument.description = flags.find(({ field }) => field === argument.name())?.description ?? ""
  for (const flag of flags)
    for (const option of optionsOf(flag)) command.addOption(positional.includes(flag.field) ? option.hideHelp() : option)
  command.addOption(fileOption())
  command.option("--output <file>", "write to a file, atomically")
  if (!operation.streams) command.option("--json", "print the result, or the error, as JSON")
  if (route.list !== undefined) command.option("--all", "fetch every page; with --json one item per line")
  command.option("--organization <slug>", "act in this organization")
  command.option("--profile <name>", "of `millrace login`")
  if (operation.access.operator) command.option("--operator", "act as the operator, with the master key of this folder's service")
  const examples = exampleLines(operation, `millrace ${area} ${command.name()}`)
  if (examples.length > 0) command.addHelpText("after", `\nFor example:\n${examples.map((line) => `  ${line}`).join("\n")}`)
  command.addHelpText("after", exitCodesHelp)
  command.configureOutput({
    outputError: (text, write) =>
      write(command.opts<OwnOptions>().json === true ? `${problemAsJson(text.trim().replace(/^error: /, ""))}\n` : text),
  })
  command.action(async (...given: unknown[]) => {
    const own = command.opts<OwnOptions & Record<string, unknown>>()
    const words = given.slice(0, positional.length) as (string | undefined)[]
    await told({ context, flags, positional, json: own.json === true }, async () => {
      const values = await valuesOf(flags, command, context.terminal)
      const input = await readInput({ positional, words, values, file: own.file }, context.terminal)
      const { json = false, all = false, output } = own
      const shown = { name: operation.name, route, columns: operation.columns, input, terminal: context.terminal, json, all, output }
      if (own.operator || operation.access.operator?.fields?.some((field) => input[field] !== undefined)) {
        const call = (_name: string, given: Fields = {}) => context.asOperator(operation, given)
        return await runOperation({ ...shown, call, target: { url: "", key: "" } })
      }
      const target = targetOf(context.terminal.env, { ...own, own: await context.own?.() })
      if (own.json !== true && context.terminal.stderr.isTTY) context.terminal.stderr.write(`${targetLine(target)}\n`)
      await runOperation({ ...shown, target })
    })
  })
}

function optionsOf(flag: Flag): Option[] {
  const notes = [
    flag.required ? "required" : "",
    flag.list ? "may be repeated" : "",
    flag.default === undefined ? "" : `default ${flag.default}`,
  ]
  const said = notes.filter(Boolean).join("; ")
  const description = [flag.description, said && `(${said})`].filter(Boolean).join(" ")
  if (flag.kind === "boolean" && !flag.list) {
    return [new Option(flag.name, description), new Option(flag.name.replace(/^--/, "--no-"), `${flag.field}: false`).hideHelp()]
  }
  const option = new Option(`${flag.name} ${placeholderOf(flag)}`, description)
  // For completion. `parseFlag` reports errors.
  if (flag.choices) option.argChoices = [...flag.choices]
  if (flag.list) option.argParser((text: string, before: string[] | undefined) => [...(before ?? []), text])
  return [option]
}

/** Returns the values of the passed flags. */
async function valuesOf(flags: readonly Flag[], command: Command, terminal: Terminal): Promise<Map<string, unknown>> {
  const values = new Map<string, unknown>()
  for (const flag of flags) {
    const given: unknown = command.getOptionValue(new Option(flag.name).attributeName())
    if (given === undefined || command.getOptionValueSource(new Option(flag.name).attributeName()) !== "cli") continue
    if (typeof given === "boolean") values.set(flag.field, given)
    else if (flag.list) values.set(flag.field, listOf(flag, given as string[]))
    else if (flag.kind === "json" && !(flag.nullable && given === "null"))
      values.set(flag.field, await readJsonFlag(flag.name, String(given), terminal))
    else values.set(flag.field, parseFlag(flag, String(given)))
  }
  return values
}

/** A lone `null` is the null of a nullable list. */
function listOf(flag: Flag, given: readonly string[]): unknown {
  if (flag.nullable && given.length === 1 && given[0] === "null") return null
  return given.map((text) => parseFlag({ ...flag, nullable: false }, text))
}

/** Runs a command's work. Reports an error and exits with its code. */
export async function told(
  args: { context: CommandContext; flags?: readonly Flag[]; positional?: readonly string[]; json?: boolean },
  run: () => Promise<void>,
): Promise<void> {
  const { context, flags = [], positional = [], json = false } = args
  const flagOf = (field: string) => (positional.includes(field) ? `<${field}>` : flags.find((flag) => flag.field === field)?.name)
  const listFlagOf = (field: string) => flags.find((flag) => flag.field === field && flag.list)?.name
  const { stderr } = context.terminal
  try {
    await run()
  } catch (error) {
    if (isClosedPipe(error)) return
    if (error instanceof OutputLost) return context.exit(1)
    if (error instanceof ClientError) {
      const text = json ? errorAsJson(error) : describeError(error, { flagOf, listFlagOf })
      stderr.write(`${text}\n`)
      return context.exit(exitCodeOf[error.code] ?? 8)
    }
    if (!(error instanceof CommandProblem)) throw error
    stderr.write(`${json ? problemAsJson(error.message, error.exitCode) : error.message}\n`)
    context.exit(error.exitCode)
  }
}

/** The reader closed the pipe, as in `| head`. */
function isClosedPipe(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | undefined)?.code === "EPIPE"
}

function verbOf(name: string): string {
  return dashed(name.slice(name.indexOf(".") + 1))
}

function dashed(text: string): string {
  return text.replaceAll(/[._]/g, "-")
}

/** Longer examples belong in a file. */
const longest = 240

/** Returns the example lines without overlong lines. `command`: for example `millrace datasets create`. */
function exampleLines(operation: AnyOperation, command: string): string[] {
  const flags = flagsOf(operation)
  const positional = positionalOf(operation)
  return (operation.examples ?? [])
    .map(({ input }) => {
      const given = fulfilled(input, (_path, field) => new Placeholder(field)) as Record<string, unknown>
      const words = positional.map((name) => quoted(given[name]))
      const named = flags.filter(({ field }) => !positional.includes(field) && given[field] !== undefined)
      return [command, ...words, ...named.flatMap((flag) => said(flag, given[flag.field]))].join(" ")
    })
    .filter((line) => line.length <= longest)
}

/** A value known only to the caller. */
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
