// `millrace mcp`: the operations as MCP tools over standard input and output, for a client on this machine. Calls go to
// the service that the profile names, with its key.
import { serveStdio } from "@modelcontextprotocol/server/stdio"
import { createCaller } from "../client/caller.ts"
import { ClientError } from "../client/error.ts"
import type { Json } from "../contract/collection.ts"
import { type AnyOperation, Operations } from "../contract/operation.ts"
import { AppError } from "../kernel/errors.ts"
import type { Registry } from "../kernel/registry.ts"
import { type McpSession, mcpServers } from "../surface/mcp/server.ts"
import { clientRoutes } from "./client-operations.ts"
import type { Target } from "./profiles.ts"
import type { Terminal } from "./terminal.ts"

/** Serves until standard input ends. */
export async function serveMcp(registry: Registry, target: Target, { stdin, stderr }: Terminal): Promise<void> {
  const operations = registry.items(Operations)
  const serverFor = mcpServers(operations)
  const session = sessionOf(operations, target)
  const ended = new Promise<void>((resolve) => stdin.once("end", resolve).once("close", resolve))
  const server = serveStdio(() => serverFor(session), { onerror: (error) => void stderr.write(`${error.message}\n`) })
  await ended
  await server.close()
}

function sessionOf(operations: readonly AnyOperation[], { url, key, organization }: Target): McpSession {
  const call = createCaller(clientRoutes(operations), { baseUrl: url, key, organization })
  return {
    async call(operation, input, signal) {
      try {
        return (await call(operation.name, allowed(operation, input), { signal })) as Json
      } catch (error) {
        if (!(error instanceof ClientError)) throw error
        throw new AppError(error.code, error.message, error.details, { cause: error })
      }
    },
  }
}

/** Fields that MCP callers cannot set are dropped before anything reads them, as at `POST /mcp`. */
function allowed({ mcp }: AnyOperation, input: unknown): Record<string, unknown> {
  const clears = new Set(mcp && "clears" in mcp ? mcp.clears : [])
  return Object.fromEntries(Object.entries(input ?? {}).filter(([name]) => !clears.has(name)))
}
