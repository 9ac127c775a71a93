// An operation: one declaration for REST, MCP, the CLI, the client and the documentation. A handler does not see HTTP.
// It returns data or throws AppError.
import type { z } from "zod"
import { type Deps, type TokenRecord, token } from "../kernel/di.ts"
import type { AppError, ErrorCode } from "../kernel/errors.ts"
import type { DeclarationKind } from "../kernel/registry.ts"
import type { AnyCaller, Caller, Role } from "./caller.ts"
import type { Json } from "./collection.ts"
import type { Gate, OperationGate } from "./gate.ts"
import type { UnitOfWork } from "./unit-of-work.ts"

export interface Access {
  /** `<area>:read` or `<area>:write`, or one of `live:subscribe`, `mcp`. A scoped token needs it. */
  readonly scope: string
  /** The least role of a caller. */
  readonly role: Role
  /** Only users marked as staff. */
  readonly staff?: boolean
  /** Only for persons and services. `mcp.absent` gives the reason. */
  readonly closedToAgents?: boolean
  /** Also open to the operator, by command and with the master key. `fields` are for the operator alone. */
  readonly operator?: { readonly fields?: readonly string[] }
  /** The call works while its organization is paused, because it concerns only the caller or the pause itself. */
  readonly whilePaused?: true
  /** Also open to a signed-in person without an organization. The handler then reads no collection of an organization. */
  readonly withoutOrganization?: true
  /** The person's session needs a sign-in within the last five minutes. Keys and tokens are exempt. */
  readonly freshSignIn?: boolean
}

export interface Hints {
  readonly readOnly: boolean
  /**
   * True if the operation can overwrite or delete existing data. Operations that run pipeline steps count, since steps can upsert
   * or call. False: it only adds.
   */
  readonly destructive: boolean
  readonly idempotent: boolean
  /**
   * True if the operation reaches systems beyond this service. `by_job`: only its committed jobs do. Other open-world operations
   * never handle a repeat (same Idempotency-Key) while the first call may have reached a system.
   */
  readonly openWorld?: boolean | "by_job"
}

/** The MCP resource of a read. The read is also a tool. */
export interface ResourceSpec {
  /** `millrace://event-pipelines/{slug}`. Braces contain input fields. */
  readonly uri: string
  /** Of a list: the output field with the list, and the resource of its items. `uri` and `title` name fields of an item. */
  readonly items?: { readonly field: string; readonly uri: string; readonly title: string }
}

/** The caller of a handler. It has an organization, unless the access has `withoutOrganization`. */
export type CallerOf<A extends Access> = A extends { readonly withoutOrganization: true } ? AnyCaller : Caller

export interface HandleArgs<I, R extends TokenRecord, C extends AnyCaller = Caller> {
  readonly input: I
  readonly caller: C
  readonly deps: Deps<R>
  /** Stage every change here. The change is committed with the audit and idempotency records before the answer. */
  readonly work: UnitOfWork
  /** Aborted when the caller disconnects or the surface cancels the call. */
  readonly signal: AbortSignal
  /** A UUID. Repeats with the same Idempotency-Key have the same id. Otherwise random. */
  readonly callId: string
}

/** An operation: the argument of `defineOperation`. */
export interface Operation<
  I extends z.ZodType = z.ZodType,
  O extends z.ZodType = z.ZodType,
  R extends TokenRecord = TokenRecord,
  A extends Access = Access,
> {
  /** `<area>.<verb>` in snake case: the operation id. The MCP tool has `_`, the command `-`. */
  readonly name: string
  readonly summary: string
  readonly description?: string
  /**
   * Path parameters stand in braces and are input fields of the same name. GET and DELETE read the other fields from the query,
   * other methods from the body. `status` defaults to 200.
   */
  readonly http: { readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"; readonly path: string; readonly status?: number }
  readonly access: A
  readonly hints: Hints
  /** A strict object. Unknown fields are refused by name. */
  readonly input: I
  readonly output: O
  readonly errors: readonly ErrorCode[]
  /** Inputs that succeed. Optional if inputs made from the schema mostly succeed, as in a list. */
  readonly examples?: readonly OperationExample<z.input<I>>[]
  readonly inject?: R
  /** `absent` keeps the operation off MCP. `clears` names fields that agents cannot set. `listed` puts the tool on the default list. */
  readonly mcp?: { readonly absent: string } | { readonly clears?: readonly string[]; readonly listed?: true }
  /** The reason for keeping the operation off the command line. Agents use commands too. */
  readonly cli?: { readonly absent: string }
  readonly resource?: ResourceSpec
  /** Of a list: the fields that people look for, most important first. `error.message` is a nested field. */
  readonly columns?: readonly string[]
  /**
   * The gate of a call. If the organization asks for approval, the call runs later as a job with the caller's rights of the time.
   * The input is parsed again then, so parsing must not change it.
   */
  readonly gate?: OperationGate<z.output<I>, z.input<O>>
  /** The handler itself files an approval at this gate. The gate is active in every organization and cannot be lifted. */
  readonly standingGate?: Gate
  /** Output fields with a secret shown once. They are left out of idempotency records, audit and logs. */
  readonly secretOutput?: readonly string[]
  /** Input fields with contents, such as rows or an event. The audit log records only their count and size. */
  readonly auditSize?: readonly string[]
  /**
   * For calls that take minutes and outlive their caller. A repeat with the same Idempotency-Key runs the handler again until
   * this function returns true for an answer. Later repeats receive this answer. The handler finds the started work by `callId`,
   * joins it, and refuses another input.
   */
  readonly joinsRepeats?: (output: z.input<O>) => boolean
  /** Media types of a stream that replaces JSON. `handle` then returns a Streamed. REST and CLI only. */
  readonly streams?: readonly string[]
  handle(args: HandleArgs<z.output<I>, R, CallerOf<A>>): Promise<z.input<O>> | z.input<O>
  /**
   * Set if the handler may run once more after a conflict with a concurrent change (`aborted` or `already_exists`, no commit).
   * Maps the error of the second attempt.
   */
  onConflict?(args: Pick<HandleArgs<z.output<I>, R, CallerOf<A>>, "caller" | "deps"> & { readonly error: AppError }): Promise<AppError>
}

/** The return value of a streaming operation, in place of its output. */
export interface Streamed {
  readonly contentType: string
  readonly fileName: string
  readonly chunks: AsyncIterable<string>
}

// biome-ignore lint/suspicious/noExplicitAny: the registry holds operations of every input and output type.
export interface AnyOperation extends Operation<any, any, any, any> {
  readonly access: Access
}

/** The loaded operations. */
export const Operations: DeclarationKind<AnyOperation> = { kind: "operation", nameOf: (operation) => operation.name }

/** Declares an operation: a route, a command, an MCP tool and a method of the client at once. */
export function defineOperation<
  I extends z.ZodType,
  O extends z.ZodType,
  const R extends TokenRecord = Record<never, never>,
  const A extends Access = Access,
>(operation: Operation<I, O, R, A>): Operation<I, O, R> {
  return operation
}

// Successful calls, declared with their operation. The documentation shows them. The tests of the surfaces use them as inputs and
// so cover the operations of every plugin.

/** A successful call, for the documentation and the tests of the surfaces. */
export interface OperationExample<In = unknown> {
  /** The title in the documentation. The first example needs no title. */
  readonly title?: string
  /** Preceding calls of other operations, by name, made in this order. */
  readonly given?: Readonly<Record<string, GivenCall>>
  readonly input: In
}

/** A plain operation name stands for its first example. */
export type GivenCall = string | { readonly operation: string; readonly input: unknown }

const mark = "result_of"

/** A placeholder for the result of a preceding call: `resultOf("dataset.slug")`, the call's name and a dotted path. */
export function resultOf(path: string): never {
  return { [mark]: path } as never
}

/** Returns the path of a `resultOf` placeholder. Undefined for any other value. */
export function resultPath(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null || Object.keys(value).length !== 1) return undefined
  const path = (value as Record<string, unknown>)[mark]
  return typeof path === "string" ? path : undefined
}

/** Returns the input with a value in place of each `resultOf`. */
export function fulfilled(input: unknown, instead: (path: string, field: string) => unknown, field = ""): unknown {
  const path = resultPath(input)
  if (path !== undefined) return instead(path, field)
  if (Array.isArray(input)) return input.map((item) => fulfilled(item, instead, field))
  if (typeof input !== "object" || input === null) return input
  return Object.fromEntries(Object.entries(input).map(([name, inner]) => [name, fulfilled(inner, instead, name)]))
}

/** An operation as a tool of a model. */
export interface OperationTool {
  readonly operation: AnyOperation
  /** The name of the MCP tool. */
  readonly name: string
  readonly description: string
  /** JSON Schema of an object. */
  readonly inputSchema: Readonly<Record<string, unknown>>
}

/** The operations available to a model. */
export interface OperationTools {
  /** Finds a tool by the operation's name. Undefined if MCP does not offer the operation. */
  find(operation: string): OperationTool | undefined
  /** Authorizes, checks, commits and audits the call like any other. Throws AppError. */
  call(tool: OperationTool, input: unknown, caller: Caller, signal: AbortSignal): Promise<Json>
}

/** The operations that MCP offers, for plugins with a model. Each call runs as the passed caller, like any other call. */
export const OperationTools = token<OperationTools>("OperationTools")
