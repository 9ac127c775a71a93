// The operations that MCP offers, for plugins that let a model call them: each call goes the way of any other call, as the
// caller that it is given.
import { token } from "../kernel/di.ts"
import type { Caller } from "./caller.ts"
import type { Json } from "./collection.ts"
import type { AnyOperation } from "./operation.ts"

/** An operation as a model is told of it. */
export interface OperationTool {
  readonly operation: AnyOperation
  /** What MCP calls it. */
  readonly name: string
  readonly description: string
  /** JSON Schema of an object. */
  readonly inputSchema: Readonly<Record<string, unknown>>
}

/** The operations that a model may be offered. */
export interface OperationTools {
  /** By the operation's name; undefined for one that MCP does not offer. */
  find(operation: string): OperationTool | undefined
  /** Authorised, checked, committed and audited as any call. Throws AppError. */
  call(tool: OperationTool, input: unknown, caller: Caller, signal: AbortSignal): Promise<Json>
}

export const OperationTools = token<OperationTools>("OperationTools")
