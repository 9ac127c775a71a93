// Calls an operation over each surface and returns the answer or the error in one form.
import { Readable, Writable } from "node:stream"
import { Command } from "commander"
import { clientRoutes } from "../../../core/cli/client-operations.ts"
import { addOperationCommands } from "../../../core/cli/operations/commands.ts"
import { type Flag, flagsOf, positionalOf } from "../../../core/cli/operations/flags.ts"
import type { ClientStream } from "../../../core/client/answer.ts"
import { createCaller } from "../../../core/client/caller.ts"
import { ClientError } from "../../../core/client/error.ts"
import { type AnyOperation, Operations } from "../../../core/contract/operation.ts"
import type { ErrorDetails } from "../../../core/kernel/errors.ts"
import { Registry } from "../../../core/kernel/registry.ts"
import { pathParameters } from "../../../core/surface/call/audit.ts"
import { callToolOf } from "../../../core/surface/mcp/call-tools.ts"
import { isListed, toolName } from "../../../core/surface/mcp/tools.ts"
import { isDue, isFast } from "../../tier.ts"

export type Input = Record<string, unknown>

export interface Outcome {
  /** HTTP status; 0 if the surface has no status. */
  readonly status: number
  /** Undefined after success. */
  readonly code: string | undefined
  /** The answer, or the error's body. */
  readonly body: unknown
  /** The whole answer as text. */
  readonly text: string
  /** Commands only. */
  readonly exitCode?: number
}

export interface Caller {
  readonly url: string
  readonly key: string | null
  readonly organization?: string
}

/** Calls one operation as one caller. */
type Surface = (operation: AnyOperation, input: Input, caller: Caller) => Promise<Outcome>
export type SurfaceName = keyof typeof surfaces

export const surfaces = { rest: callRest, mcp, cli, client } satisfies Record<string, Surface>
export const surfaceNames = Object.keys(surfaces) as SurfaceName[]

/** Returns true if the surface offers the operation. */
export function offered(operation: AnyOperation, surface: SurfaceName): boolean {
  if (surface === "cli") return operation.cli === undefined
  return surface !== "mcp" || (!operation.streams && !(operation.mcp && "absent" in operation.mcp))
}

/** Returns the surfaces for an operation: in the first tier one surface, rotating by number; otherwise all. */
export function surfacesToTry(operation: AnyOperation, number: number): SurfaceName[] {
  return isFast ? surfaceToTry(operation, number) : surfaceNames.filter((surface) => offered(operation, surface))
}

/** Returns one of the surfaces, rotating by number. */
export function surfaceToTry(operation: AnyOperation, number: number): SurfaceName[] {
  const there = surfaceNames.filter((surface) => offered(operation, surface))
  return there.slice(number % there.length).slice(0, 1)
}

/** Returns surfaces distinguished by the audit log: command and client send the same as REST. In the first tier, one of all. */
export function surfacesToAudit(operation: AnyOperation, number: number): SurfaceName[] {
  const reports = (["rest", "mcp"] as const).filter((surface) => offered(operation, surface))
  return isFast ? surfaceToTry(operation, number) : reports
}

/**
 * Returns REST and the surfaces to compare: in the first tier one for every third number, in turn; in the slow tier the rest;
 * otherwise all.
 */
export function surfacesToCompare(operation: AnyOperation, number: number): readonly SurfaceName[] {
  const others = surfaceNames.filter((surface) => surface !== "rest" && offered(operation, surface))
  const isOfSample = (index: number) => number % 3 === 0 && index === (number / 3) % others.length
  return ["rest", ...others.filter((_, index) => isDue(isOfSample(index)))]
}

/** Placeholder in an input for a number that JSON can contain but a double cannot. */
export const endless = "\u0000endless"

export function fromQuery({ http }: AnyOperation): boolean {
  return http.method === "GET" || http.method === "DELETE"
}

async function callRest(operation: AnyOperation, input: Input, { url, key, organization }: Caller): Promise<Outcome> {
  const { method, path } = operation.http
  const inPath = pathParameters(path)
  const segment = (name: string) => encodeURIComponent(textOf(input[name] ?? "nothing").toWellFormed() || "nothing")
  const target = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => segment(name))
  const others = Object.entries(input).filter(([name, value]) => !inPath.includes(name) && value !== undefined)
  const query = new URLSearchParams(
    others.flatMap(([name, value]) => [value].flat().map((entry): [string, string] => [name, textOf(entry).toWellFormed()])),
  )
  const asQuery = fromQuery(operation)
  const response = await fetch(`${url}${target}${asQuery && query.size > 0 ? `?${query}` : ""}`, {
    method,
    headers: {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(organization === undefined ? {} : { "x-organization-id": organization }),
      ...(asQuery ? {} : { "content-type": "application/json" }),
    },
    ...(asQuery ? {} : { body: JSON.stringify(Object.fromEntries(others)).replaceAll(JSON.stringify(endless), "1e999") }),
  })
  const text = await response.text()
  if (response.ok) return { status: response.status, code: undefined, body: operation.streams ? text : JSON.parse(text), text }
  return refused(response.status, text)
}

/** Calls like clients do: a listed tool by its own name, other operations by the call tool. */
async function mcp(operation: AnyOperation, input: Input, { url, key, organization }: Caller): Promise<Outcome> {
  const response = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-11-25",
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(organization === undefined ? {} : { "x-organization-id": organization }),
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: isListed(operation)
        ? { name: toolName(operation), arguments: input }
        : { name: callToolOf(operation), arguments: { name: toolName(operation), arguments: input } },
    }).replaceAll(JSON.stringify(endless), "1e999"),
  })
  const text = await response.text()
  const data = /^data: (\{.*)$/m.exec(text)?.[1] ?? text
  const message = JSON.parse(data) as { result?: { isError?: boolean; content: { text: string }[] } }
  if (!message.result) return refused(response.status, data)
  const inner = message.result.content[0]?.text ?? ""
  if (message.result.isError) return refused(response.status, inner)
  return { status: response.status, code: undefined, body: JSON.parse(inner), text: inner }
}

async function client(operation: AnyOperation, input: Input, { url, key, organization }: Caller): Promise<Outcome> {
  const call = createCaller(clientRoutes([operation]), { baseUrl: url, key: key ?? "", organization, retries: { attempts: 1 } })
  try {
    const answer = await call(operation.name, input)
    const body = operation.streams ? await (answer as ClientStream).text() : answer
    return { status: 200, code: undefined, body, text: operation.streams ? String(body) : JSON.stringify(body) }
  } catch (error) {
    if (!(error instanceof ClientError)) throw error
    const { code, message, details, status } = error
    return { status, code, body: { code, message, details }, text: JSON.stringify({ code, message, details }) }
  }
}

/** Runs in this process, over HTTP. Uses flags if possible, and a file on standard input for the rest. */
async function cli(operation: AnyOperation, input: Input, { url, key, organization }: Caller): Promise<Outcome> {
  const flags = flagsOf(operation)
  const positional = positionalOf(operation)
  const [out, err] = [collector(), collector()]
  const fields: Input = {}
  const words: string[] = []
  const args: string[] = []
  for (const [name, value] of Object.entries(input)) {
    const texts =
      value === undefined
        ? []
        : argumentsOf(
            flags.find(({ field }) => field === name),
            value,
          )
    if (texts === undefined) Object.defineProperty(fields, name, { value, enumerable: true })
    else if (!positional.includes(name)) args.push(...texts)
  }
  for (const name of positional) words.push(textOf(input[name] ?? "nothing") || "nothing")
  if (Object.keys(fields).length > 0) args.push("--file", "-")
  const registry = new Registry()
  registry.add(Operations, operation, "test")
  let exitCode = 0
  const terminal = {
    env: { MILLRACE_URL: url, MILLRACE_KEY: key || "none", ...(organization === undefined ? {} : { MILLRACE_ORGANIZATION: organization }) },
    stdin: Readable.from([JSON.stringify(fields)]),
    stdout: out.stream,
    stderr: err.stream,
  }
  const program = new Command("millrace").exitOverride().configureOutput({ writeErr: (text) => void err.stream.write(text) })
  const end = (code: number) => {
    exitCode = code
  }
  // Uses a member's key instead of the operator's credential. The service refuses operator fields.
  const asMember = createCaller(clientRoutes([operation]), { baseUrl: url, key: key ?? "", organization, retries: { attempts: 1 } })
  const asOperator = (_operation: AnyOperation, values: Input) => asMember(operation.name, values)
  addOperationCommands(program, registry, { terminal, exit: end, asOperator })
  const [area = "", verb = ""] = operation.name.replaceAll("_", "-").split(".")
  await program.parseAsync([area, verb, ...(operation.streams ? [] : ["--json"]), ...args, "--", ...words], { from: "user" })
  const [output, complained] = [out.text(), err.text()]
  if (exitCode === 0) return { status: 200, code: undefined, body: operation.streams ? output : JSON.parse(output), text: output, exitCode }
  return operation.streams
    ? { status: 0, code: /\((\w+)\)\.?$/m.exec(complained)?.[1] ?? "none", body: complained, text: complained, exitCode }
    : { ...refused(0, complained), exitCode }
}

/** Returns the command-line arguments of a value; undefined if only a file can express it. */
function argumentsOf(flag: Flag | undefined, value: unknown): string[] | undefined {
  if (!flag || value === null) return undefined
  if (flag.kind === "boolean" && !flag.list) {
    return typeof value === "boolean" ? [value ? flag.name : flag.name.replace(/^--/, "--no-")] : undefined
  }
  const values = flag.list ? (Array.isArray(value) && value.length > 0 ? value : undefined) : [value]
  const texts = values?.map((item) => argumentOf(flag, item))
  if (!texts?.every((text) => text !== undefined)) return undefined
  return texts.map((text) => `${flag.name}=${text}`)
}

function argumentOf({ kind, choices, nullable }: Flag, value: unknown): string | undefined {
  if (kind === "json") return JSON.stringify(value)
  if (kind === "text") {
    const sayable = typeof value === "string" && !value.includes("\0") && value.isWellFormed() && !(nullable && value === "null")
    return sayable && (!choices || choices.includes(value)) ? value : undefined
  }
  const whole = typeof value === "number" && (kind !== "integer" || Number.isInteger(value))
  return whole && kind !== "scalar" ? String(value) : undefined
}

function refused(status: number, text: string): Outcome {
  const body = errorIn(text)
  return { status, code: body?.code ?? "none", body: body ?? text, text }
}

/** Parses an error body from the text. */
function errorIn(text: string): { code: string; message: string; details: ErrorDetails } | undefined {
  try {
    const { code, message, details } = JSON.parse(text) as Record<string, unknown>
    const whole = typeof code === "string" && typeof message === "string" && typeof details === "object" && details !== null
    return whole ? { code, message, details: details as ErrorDetails } : undefined
  } catch {
    return undefined
  }
}

function collector() {
  const chunks: Buffer[] = []
  const stream = new Writable({
    write(chunk: Buffer | string, _encoding, callback) {
      chunks.push(Buffer.from(chunk))
      callback()
    },
  })
  return { stream, text: () => Buffer.concat(chunks).toString("utf8") }
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "")
}
