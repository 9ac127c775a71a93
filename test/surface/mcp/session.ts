// An MCP session over operations alone, for servers tested without HTTP.

import type { Caller } from "../../../core/contract/caller.ts"
import type { Json } from "../../../core/contract/collection.ts"
import type { AnyOperation } from "../../../core/contract/operation.ts"
import { selectionOf, ToolCatalog } from "../../../core/surface/mcp/catalog.ts"
import { McpResources, readablesOf } from "../../../core/surface/mcp/resources.ts"
import type { McpSession } from "../../../core/surface/mcp/server.ts"

type Call = (operation: AnyOperation, input: unknown) => Promise<Json>

export function sessionOver(operations: readonly AnyOperation[], call: Call): McpSession {
  const caller: Pick<Caller, "role" | "scopes" | "user"> = { role: "owner", scopes: undefined, user: undefined }
  const view = new ToolCatalog(operations).view(caller as Caller, selectionOf("/mcp"))
  return {
    view,
    resources: new McpResources(readablesOf(operations), view),
    run: async (_message, work) => await work(),
    call: async (operation, input) => {
      const body = await call(operation, input)
      return { text: JSON.stringify(body), body }
    },
  }
}
