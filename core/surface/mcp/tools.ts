// Operations as MCP tools: name, what it does, the JSON Schemas of what goes in and comes out, and the hints by which a
// client decides what to ask its user. Made once; the same list for every caller.
import type { Tool } from "@modelcontextprotocol/server"
import type { AnyOperation } from "../../contract/operation.ts"
import { wireSchema } from "../wire-schema.ts"

export interface OperationTool {
  readonly operation: AnyOperation
  readonly tool: Tool
}

/** By tool name. Streams have no answer that fits a tool, and what says that it is absent stays away. Throws for an input or output that is not an object. */
export function toolsOf(operations: readonly AnyOperation[]): ReadonlyMap<string, OperationTool> {
  const offered = operations.filter(({ streams, mcp }) => !streams && !(mcp && "absent" in mcp))
  return new Map(offered.map((operation) => [toolName(operation), { operation, tool: toolOf(operation) }]))
}

export function toolName({ name }: Pick<AnyOperation, "name">): string {
  return name.replaceAll(".", "_")
}

function toolOf(operation: AnyOperation): Tool {
  const { summary, description, hints, access, mcp } = operation
  const title = summary.replace(/\.$/, "")
  const clears = mcp && "clears" in mcp ? mcp.clears : []
  const needs = `Needs the scope ${access.scope} (of a scoped token) and the role ${access.role}${access.staff ? "; for staff" : ""}.`
  const cleared = clears.length > 0 ? `Cannot be set here: ${clears.join(", ")}.` : undefined
  return {
    name: toolName(operation),
    title,
    description: [summary, description, needs, cleared].filter(Boolean).join(" "),
    inputSchema: without(objectSchema(operation, "input"), clears),
    outputSchema: objectSchema(operation, "output"),
    annotations: {
      title,
      readOnlyHint: hints.readOnly,
      destructiveHint: hints.destructive,
      idempotentHint: hints.idempotent,
      openWorldHint: Boolean(hints.openWorld),
    },
  }
}

type ObjectSchema = Tool["inputSchema"]

function objectSchema(operation: AnyOperation, io: "input" | "output"): ObjectSchema {
  const schema = wireSchema(operation[io], io)
  if (schema["type"] !== "object") {
    throw new Error(
      `The ${io} of "${operation.name}" is not an object, so it cannot be a tool; make it one, or say why it is absent from MCP.`,
    )
  }
  return schema as unknown as ObjectSchema
}

function without(schema: ObjectSchema, fields: readonly string[]): ObjectSchema {
  if (fields.length === 0) return schema
  const { properties = {}, required = [] } = schema
  return {
    ...schema,
    properties: Object.fromEntries(Object.entries(properties).filter(([name]) => !fields.includes(name))),
    required: required.filter((name) => !fields.includes(name)),
  }
}
