// The MCP server: tools and resources, for any transport. A session says who calls; HTTP makes one a
// request, stdio one a process. Inputs are checked by the call itself, so that every surface refuses them alike.
import { type CallToolResult, ProtocolError, ProtocolErrorCode, Server, type ServerContext } from "@modelcontextprotocol/server"
import type { Json } from "../../contract/collection.ts"
import type { AnyOperation } from "../../contract/operation.ts"
import { asAppError } from "../../kernel/errors.ts"
import { fromHeaders } from "../../kernel/tracing.ts"
import { interfaceVersion } from "../interface-version.ts"
import { type CallOperation, McpResources } from "./resources.ts"
import { type OperationTool, toolsOf } from "./tools.ts"

/** Calls as one caller. Throws AppError. */
export interface McpSession {
  call(operation: AnyOperation, input: unknown, signal: AbortSignal): Promise<Json>
}

const listedMs = 300_000

const instructions = [
  "Millrace receives events (forms, webhooks), runs each through a pipeline of actions and keeps the rows they write in datasets.",
  "All calls act in the organization of the key. Lists take `limit` and `cursor`; pass `next_cursor` until it is empty.",
  "An error has `code`, `message` and `details`; the message says what to change. Validate a pipeline document before saving it,",
  "and read a pipeline's executions to see what happened to an event.",
].join(" ")

/** Makes a server a session, for `createMcpHandler` and `serveStdio`. Throws when an operation cannot be a tool. */
export function mcpServers(operations: readonly AnyOperation[]): (session: McpSession) => Server {
  const tools = toolsOf(operations)
  const resources = new McpResources(operations)
  const listed = [...tools.values()].map(({ tool }) => tool).sort((left, right) => (left.name < right.name ? -1 : 1))
  return (session) => {
    const server = new Server(
      { name: "millrace", title: "Millrace", version: interfaceVersion },
      {
        capabilities: { tools: {}, resources: {}, completions: {} },
        instructions,
        cacheHints: { "tools/list": { ttlMs: listedMs }, "resources/templates/list": { ttlMs: listedMs } },
      },
    )
    const callIn =
      (context: ServerContext): CallOperation =>
      (operation, input) =>
        session.call(operation, input, context.mcpReq.signal)
    server.setRequestHandler("tools/list", () => ({ tools: listed }))
    server.setRequestHandler("tools/call", async ({ params }, context) => {
      const tool = tools.get(params.name)
      if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: "${params.name}". tools/list lists the tools.`)
      const result = await fromHeaders(traceOf(context), () => callTool(tool, params.arguments ?? {}, callIn(context)))
      return server.projectCallToolResult(result, tool.tool.outputSchema)
    })
    server.setRequestHandler("resources/list", ({ params }, context) => resources.list(callIn(context), params?.cursor))
    server.setRequestHandler("resources/templates/list", () => ({ resourceTemplates: resources.templates() }))
    server.setRequestHandler("resources/read", ({ params }, context) => resources.read(callIn(context), params.uri))
    server.setRequestHandler("completion/complete", async ({ params: { ref, argument } }, context) => {
      if (ref.type !== "ref/resource") return { completion: { values: [], total: 0, hasMore: false } }
      return { completion: await resources.complete(callIn(context), ref.uri, argument.name, argument.value) }
    })
    return server
  }
}

/** A refusal is an answer that the model can read and act on: the error body as text, since structured content is the output schema's. */
async function callTool({ operation }: OperationTool, input: Record<string, unknown>, call: CallOperation): Promise<CallToolResult> {
  try {
    const body = await call(operation, input)
    return { content: [{ type: "text", text: JSON.stringify(body) }], structuredContent: body as Record<string, unknown> }
  } catch (cause) {
    return { content: [{ type: "text", text: JSON.stringify(asAppError(cause).toBody()) }], isError: true }
  }
}

/** Trace context travels in `_meta`, under the names it has as headers. */
function traceOf({ mcpReq }: ServerContext): Record<string, string> {
  return Object.fromEntries(Object.entries(mcpReq._meta ?? {}).filter((entry): entry is [string, string] => typeof entry[1] === "string"))
}
