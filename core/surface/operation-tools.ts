// Operations as tools for a model within the service (contract/tools.ts).
import type { AnyOperation } from "../contract/operation.ts"
import type { OperationTools } from "../contract/tools.ts"
import type { Invoker } from "./invoke.ts"
import { toolName, toolsOf } from "./mcp/tools.ts"

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
