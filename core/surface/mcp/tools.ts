// Operations as MCP tools: name, description with an example, input schema for models, and hints. From the hints a client decides
// when to ask its user.
import type { Tool } from "@modelcontextprotocol/server"
import { z } from "zod"
import type { AnyOperation, OperationTools } from "../../contract/operation.ts"
import { isRecord } from "../../kernel/json.ts"
import type { Invoker } from "../invoke.ts"
import { examplesFor } from "../openapi/example.ts"
import { type JsonObject, wireSchema } from "../wire-schema.ts"
import { portableSchema } from "./portable-schema.ts"

export interface OperationTool {
  readonly operation: AnyOperation
  readonly tool: Tool
  /** The tool as JSON. */
  readonly text: string
}

/**
 * Maps tools by name. Streams and operations marked absent from MCP have no tool. Throws if an input or output is not an object.
 */
export function toolsOf(operations: readonly AnyOperation[]): ReadonlyMap<string, OperationTool> {
  const offered = operations.filter(({ streams, mcp }) => !streams && !(mcp && "absent" in mcp))
  return new Map(
    offered.map((operation) => {
      const tool = toolOf(operation)
      return [tool.name, { operation, tool, text: JSON.stringify(tool) }]
    }),
  )
}

export function toolName({ name }: Pick<AnyOperation, "name">): string {
  return name.replaceAll(".", "_")
}

/** Returns true if the tool is on the default list. */
export function isListed({ mcp }: AnyOperation): boolean {
  return mcp !== undefined && "listed" in mcp && mcp.listed === true
}

/** Returns examples of a tool's arguments from its operation. */
export function exampleArguments(operation: AnyOperation): JsonObject[] {
  const schema = wireSchema(operation.input, "input")
  const definitions = (schema["$defs"] ?? {}) as Record<string, JsonObject>
  const resolve = (reference: string) => definitions[reference.slice("#/$defs/".length)]
  const cleared = new Set(clearedFields(operation))
  const shown = examplesFor(operation, schema, resolve).map(({ input }) => input)
  const isList = isRecord(schema["properties"]) && "limit" in schema["properties"] && operation.hints.readOnly
  return (shown.length > 0 ? shown : [{}]).map((input) => {
    const fields = Object.entries(input).filter(([name]) => !cleared.has(name))
    return fields.length === 0 && isList ? { limit: 10 } : Object.fromEntries(fields)
  })
}

/** Returns the output schema of an operation in portable keywords. */
export function outputSchema(operation: AnyOperation): JsonObject {
  return portableSchema(objectSchema(operation, "output"))
}

function toolOf(operation: AnyOperation): Tool {
  const { summary, description, hints } = operation
  const title = summary.replace(/\.$/, "")
  const cleared = clearedFields(operation)
  const note = cleared.length > 0 ? `Cannot be set here: ${cleared.join(", ")}.` : undefined
  if (!(operation.output instanceof z.ZodObject)) objectSchema(operation, "output")
  return {
    name: toolName(operation),
    description: [summary, description, note, `Example: ${JSON.stringify(exampleArguments(operation)[0])}`].filter(Boolean).join(" "),
    inputSchema: portableSchema(without(objectSchema(operation, "input"), cleared)) as Tool["inputSchema"],
    annotations: {
      title,
      readOnlyHint: hints.readOnly,
      destructiveHint: hints.destructive,
      idempotentHint: hints.idempotent,
      openWorldHint: Boolean(hints.openWorld),
    },
  }
}

function clearedFields({ mcp }: AnyOperation): readonly string[] {
  return (mcp && "clears" in mcp && mcp.clears) || []
}

function objectSchema(operation: AnyOperation, io: "input" | "output"): JsonObject {
  const schema = wireSchema(operation[io], io)
  if (schema["type"] !== "object") {
    throw new Error(
      `The ${io} of "${operation.name}" is not an object, so it cannot be a tool; make it one, or say why it is absent from MCP.`,
    )
  }
  return schema
}

function without(schema: JsonObject, fields: readonly string[]): JsonObject {
  if (fields.length === 0) return schema
  const properties = Object.entries((schema["properties"] ?? {}) as JsonObject).filter(([name]) => !fields.includes(name))
  const required = ((schema["required"] ?? []) as string[]).filter((name) => !fields.includes(name))
  return { ...schema, properties: Object.fromEntries(properties), required }
}

/** Operations as tools for a model within the service (contract/tools.ts). */
export function createOperationTools(operations: () => readonly AnyOperation[], invoker: Invoker): OperationTools {
  let made: ReturnType<typeof toolsOf> | undefined
  return {
    find(name) {
      made ??= toolsOf(operations())
      const found = made.get(toolName({ name }))
      if (found?.operation.name !== name) return undefined
      const { description = "", inputSchema } = found.tool
      return { operation: found.operation, name: found.tool.name, description, inputSchema }
    },
    async call({ operation }, input, caller, signal) {
      const answer = await invoker.perform(operation, input, caller, { signal })
      if (answer.kind === "stream") throw new Error(`${operation.name} answers a stream, and is not a tool.`)
      return answer.body
    },
  }
}
