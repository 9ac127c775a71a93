// The five tools for every operation: search, describe, and one call tool each for reads, writes and destructive calls. A call
// tool uses the same path as the operation's own tool.
import type { Tool } from "@modelcontextprotocol/server"
import { z } from "zod"
import type { AnyOperation } from "../../contract/operation.ts"
import { AppError } from "../../kernel/errors.ts"
import { parsedJson } from "../../kernel/json.ts"
import { parseInput } from "../call/parse-input.ts"
import { refuseRounded } from "../http/json-body.ts"
import { type JsonObject, wireSchema } from "../wire-schema.ts"
import type { ToolView } from "./catalog.ts"
import { portableSchema } from "./portable-schema.ts"
import { exampleArguments, isListed, type OperationTool, outputSchema } from "./tools.ts"

type CallTool = "call_read" | "call_write" | "call_destructive"

/** The call in the arguments of a call tool. */
export interface NamedCall {
  readonly tool: OperationTool
  readonly input: unknown
  readonly idempotencyKey: string | undefined
}

const name = z.string().min(1).max(200).describe("Name of the tool, as search_tools returns it.")
const input = z.unknown().optional().describe("Arguments of the tool, as describe_tool shows them.")
const key = z.string().optional().describe("A text of your own, such as a UUID. A repeat with this key returns the first result.")

const SearchInput = z.strictObject({
  query: z.string().min(1).max(400).describe("Words of the task, such as `list datasets`."),
  limit: z.int().min(1).max(50).default(10).describe("Tools to return."),
})
const DescribeInput = z.strictObject({ name })
const ReadInput = z.strictObject({ name, arguments: input })
const WriteInput = z.strictObject({ name, arguments: input, idempotency_key: key })

interface Declared {
  readonly title: string
  readonly description: string
  readonly schema: z.ZodType
  readonly hints: Omit<NonNullable<Tool["annotations"]>, "title">
}

const reading = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false }
const changing = { readOnlyHint: false, idempotentHint: false, openWorldHint: true }

const search: Declared = {
  title: "Search tools",
  description: "Finds tools by words of the task. Returns the name and the call tool of each. Describe a tool before you call it.",
  schema: SearchInput,
  hints: reading,
}
const describe: Declared = {
  title: "Describe a tool",
  description: "Returns input schema, output schema and examples of a tool.",
  schema: DescribeInput,
  hints: reading,
}
const calls: Readonly<Record<CallTool, Declared>> = {
  call_read: {
    title: "Call a reading tool",
    description: "Calls a tool that only reads.",
    schema: ReadInput,
    hints: { ...reading, openWorldHint: true },
  },
  call_write: {
    title: "Call an adding tool",
    description: "Calls a tool that adds something. The tool overwrites and removes nothing.",
    schema: WriteInput,
    hints: { ...changing, destructiveHint: false },
  },
  call_destructive: {
    title: "Call an overwriting tool",
    description: "Calls a tool that can overwrite or remove something.",
    schema: WriteInput,
    hints: { ...changing, destructiveHint: true },
  },
}

/** Returns the names of the five tools, or of the read-only tools. */
export function callToolNames(readOnly: boolean): string[] {
  const named = Object.entries({ search_tools: search, describe_tool: describe, ...calls })
  return named.filter(([, { hints }]) => !readOnly || hints.readOnlyHint).map(([name]) => name)
}

/** The call tool of an operation. */
export function callToolOf({ hints }: AnyOperation): CallTool {
  if (hints.readOnly) return "call_read"
  return hints.destructive ? "call_destructive" : "call_write"
}

/** Returns the call tools for these tools. A call tool without matching tools is left out. */
export function callToolsOf(tools: readonly OperationTool[]): Tool[] {
  if (tools.length === 0) return []
  const calling = (Object.keys(calls) as CallTool[]).flatMap((callTool) => {
    const example = exampleOf(tools.filter(({ operation }) => callToolOf(operation) === callTool))
    return example ? [toolFrom(callTool, calls[callTool], example)] : []
  })
  const { name } = exampleOf(tools) ?? {}
  return [
    toolFrom("search_tools", search, { query: String(name).replaceAll("_", " ") }),
    toolFrom("describe_tool", describe, { name }),
    ...calling,
  ]
}

/** Returns a short call of one of the tools, if possible of a listed tool. */
function exampleOf(tools: readonly OperationTool[]): JsonObject | undefined {
  const listed = tools.filter(({ operation }) => isListed(operation))
  const examples = (listed.length > 0 ? listed : tools.slice(0, 10)).map(({ operation, tool }) => {
    return { name: tool.name, arguments: exampleArguments(operation)[0] }
  })
  return examples.sort((left, right) => JSON.stringify(left).length - JSON.stringify(right).length)[0]
}

function toolFrom(name: string, { title, description, schema, hints }: Declared, example: JsonObject): Tool {
  return {
    name,
    description: `${description} Example: ${JSON.stringify(example)}`,
    inputSchema: portableSchema(wireSchema(schema, "input")) as Tool["inputSchema"],
    annotations: { title, ...hints },
  }
}

/** Reads the arguments of a call tool. Throws `invalid_argument`. Throws `not_found` for a tool outside this connection. */
export async function namedCall(callTool: CallTool, given: JsonObject, view: ToolView): Promise<NamedCall> {
  const { arguments: nested, ...beside } = given
  const { name, idempotency_key } = (await parseInput(calls[callTool].schema, beside)) as z.infer<typeof WriteInput>
  const tool = view.find(name)
  if (!tool) throw unknownTool(name)
  const right = callToolOf(tool.operation)
  if (right !== callTool)
    throw new AppError("invalid_argument", `"${tool.tool.name}" is called with ${right}, not with ${callTool}.`, {
      reason: "wrong_call_tool",
      call_tool: right,
    })
  // Models often write nested arguments as JSON text.
  const input = typeof nested === "string" ? readArguments(nested) : (nested ?? {})
  return { tool, input, idempotencyKey: idempotency_key }
}

function readArguments(text: string): unknown {
  const value = parsedJson(text)
  if (value === undefined) return text
  refuseRounded(text)
  return value
}

/** Returns the response of `search_tools`. */
export async function searched(given: JsonObject, view: ToolView): Promise<JsonObject> {
  const { query, limit } = await parseInput(SearchInput, given)
  const found = searchTools([...view.tools.values()], query)
  const tools = found.slice(0, limit).map(({ operation, tool }) => {
    return { name: tool.name, summary: operation.summary, call_tool: callToolOf(operation) }
  })
  return { tools, total: found.length }
}

/** Returns the response of `describe_tool`. */
export async function describedTool(given: JsonObject, view: ToolView): Promise<JsonObject> {
  const { name } = await parseInput(DescribeInput, given)
  const found = view.tools.get(name.replaceAll(".", "_"))
  if (!found) throw unknownTool(name)
  const { operation, tool } = found
  return {
    name: tool.name,
    summary: operation.summary,
    ...(operation.description ? { description: operation.description } : {}),
    call_tool: callToolOf(operation),
    scope: operation.access.scope,
    role: operation.access.role,
    ...(operation.access.withoutOrganization ? { without_organization: true } : {}),
    input_schema: tool.inputSchema,
    examples: exampleArguments(operation),
    output_schema: outputSchema(operation),
  }
}

export function isCallTool(name: string): name is CallTool {
  return name in calls
}

function unknownTool(name: string): AppError {
  return new AppError("not_found", `The tool "${name}" does not exist. search_tools finds tools.`, { reason: "unknown_tool", tool: name })
}

// Search weights: a word counts most in the name, less in the summary, least in the description.

const weights = [4, 2, 1] as const
/** Further words of a query are ignored. */
const maxWords = 20

/** Returns tools matching at least one word of the query, best first. */
function searchTools(tools: readonly OperationTool[], query: string): OperationTool[] {
  const words = [...new Set(wordsOf(query))].slice(0, maxWords)
  const scored = tools.map((tool) => ({ tool, score: scoreOf(tool, words) })).filter(({ score }) => score > 0)
  return scored.sort((left, right) => right.score - left.score).map(({ tool }) => tool)
}

function scoreOf({ operation }: OperationTool, words: readonly string[]): number {
  const texts = [operation.name, operation.summary, operation.description ?? ""].map(wordsOf)
  const scores = words.map((word) => {
    const at = texts.findIndex((text) => text.includes(word))
    return at < 0 ? 0 : (weights[at] ?? 0)
  })
  return scores.reduce((sum: number, score) => sum + score, 0)
}

/** Words in lower case, plural forms as singular. */
function wordsOf(text: string): string[] {
  return (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).map((word) =>
    word.length > 3 ? word.replace(/ies$/, "y").replace(/s$/, "") : word,
  )
}
