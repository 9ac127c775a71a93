// An operation: one declaration that REST, MCP, the CLI, the client and the documentation all read. Nothing about HTTP
// is visible in a handler; it returns data or throws AppError.
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
  /** The least role that may call. */
  readonly role: Role
  /** Only users marked as staff. */
  readonly staff?: boolean
  /** Persons and services only. `mcp.absent` says why. */
  readonly closedToAgents?: boolean
  /** The operator of the service may call it too, by the command and with the master key. `fields` are for the operator alone. */
  readonly operator?: { readonly fields?: readonly string[] }
  /** The call goes on while its organization is paused: it concerns the caller alone, or the pause itself. */
  readonly whilePaused?: true
  /** A signed-in person without an organization may call it too. The handler reads no collection of an organization for that person. */
  readonly withoutOrganization?: true
  /** A person in a session has signed in within the last five minutes. Keys and tokens act by role alone. */
  readonly freshSignIn?: boolean
}

export interface Hints {
  readonly readOnly: boolean
  /** In some use of it overwrites or removes what was there; what runs a pipeline's steps may, by a keyed write or a call. False: only adds. */
  readonly destructive: boolean
  readonly idempotent: boolean
  /**
   * Reaches systems beyond this service. `by_job`: only by jobs that it commits, the handler itself does not. Of the others a
   * repeat with the same Idempotency-Key is never handled while the first may have reached anything.
   */
  readonly openWorld?: boolean | "by_job"
}

/** Where a read stands among the resources of MCP, besides being a tool. */
export interface ResourceSpec {
  /** `millrace://event-pipelines/{slug}`; what stands in braces are input fields. */
  readonly uri: string
  /** Of a list: the output field that holds it, and the resource that each of its items is. `uri` and `title` name fields of an item. */
  readonly items?: { readonly field: string; readonly uri: string; readonly title: string }
}

/** The caller of a handler. It has an organization, unless the access has `withoutOrganization`. */
export type CallerOf<A extends Access> = A extends { readonly withoutOrganization: true } ? AnyCaller : Caller

export interface HandleArgs<I, R extends TokenRecord, C extends AnyCaller = Caller> {
  readonly input: I
  readonly caller: C
  readonly deps: Deps<R>
  /** Stage every change here; it is committed with the audit and idempotency records before the call is answered. */
  readonly work: UnitOfWork
  /** Aborted when the caller disconnects, or the surface gives the call up. */
  readonly signal: AbortSignal
  /** A UUID: the same for each repeat with the same Idempotency-Key, drawn without one. */
  readonly callId: string
}

/** An operation, as `defineOperation` takes it. */
export interface Operation<
  I extends z.ZodType = z.ZodType,
  O extends z.ZodType = z.ZodType,
  R extends TokenRecord = TokenRecord,
  A extends Access = Access,
> {
  /** `<area>.<verb>` in snake case: the operation id; the MCP tool with `_`, the command with `-`. */
  readonly name: string
  readonly summary: string
  readonly description?: string
  /** Path parameters stand in braces and are input fields of the same name; GET and DELETE read the rest from the query, others from the body. `status` is 200 unless given. */
  readonly http: { readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"; readonly path: string; readonly status?: number }
  readonly access: A
  readonly hints: Hints
  /** A strict object: unknown fields are refused by name. */
  readonly input: I
  readonly output: O
  readonly errors: readonly ErrorCode[]
  /** Inputs that succeed. Not needed where what the schema alone allows mostly does, as in a list. */
  readonly examples?: readonly OperationExample<z.input<I>>[]
  readonly inject?: R
  /** `absent` keeps the operation off MCP. `clears` names fields that agents cannot set. `listed` puts the tool on the default list. */
  readonly mcp?: { readonly absent: string } | { readonly clears?: readonly string[]; readonly listed?: true }
  /** A reason keeps the operation off the command, which agents are given too. */
  readonly cli?: { readonly absent: string }
  readonly resource?: ResourceSpec
  /** Of a list: the fields that people look for, first those they look for first. `error.message` is a field within one. */
  readonly columns?: readonly string[]
  /** A call waits for a person's approval where the organization asks for it; it is performed as a job then, with the caller's rights as they were. Its input is parsed again then, and must not change by that. */
  readonly gate?: OperationGate<z.output<I>, z.input<O>>
  /** The handler itself files an approval at this gate, in every organization: no list of gates lifts it. */
  readonly standingGate?: Gate
  /** Output fields that hold a secret shown once: kept out of idempotency records, audit and logs. */
  readonly secretOutput?: readonly string[]
  /** Input fields that hold contents, such as rows or an event: the audit log keeps their count and size alone. */
  readonly auditSize?: readonly string[]
  /**
   * For calls that take minutes and outlive their caller: a repeat with the same Idempotency-Key is handled as the first call
   * was until there is an answer of which this returns true, which is then given to all repeats. The handler finds by `callId`
   * what was begun, joins it, and refuses another input.
   */
  readonly joinsRepeats?: (output: z.input<O>) => boolean
  /** Media types of the stream that is answered instead of JSON; `handle` then returns a Streamed. REST and CLI only. */
  readonly streams?: readonly string[]
  handle(args: HandleArgs<z.output<I>, R, CallerOf<A>>): Promise<z.input<O>> | z.input<O>
  /**
   * Set where the handler may be retried once after a conflict with a concurrent change (`aborted` or `already_exists`,
   * nothing committed). Maps the error of the second attempt.
   */
  onConflict?(args: Pick<HandleArgs<z.output<I>, R, CallerOf<A>>, "caller" | "deps"> & { readonly error: AppError }): Promise<AppError>
}

/** What a streaming operation returns in place of its output. */
export interface Streamed {
  readonly contentType: string
  readonly fileName: string
  readonly chunks: AsyncIterable<string>
}

// biome-ignore lint/suspicious/noExplicitAny: the registry holds operations of every input and output type.
export interface AnyOperation extends Operation<any, any, any, any> {
  readonly access: Access
}

/** The operations that are loaded. */
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

// Calls that succeed, declared with their operation: its documentation shows them, and the tests of the surfaces draw
// their inputs from them, so that an operation of any plugin is called everywhere without a test of its own.

/** A call that succeeds, shown by the documentation and made by the tests of the surfaces. */
export interface OperationExample<In = unknown> {
  /** What it shows; the first example needs none. */
  readonly title?: string
  /** What must be there before, made in this order: each a call of another operation, by name. */
  readonly given?: Readonly<Record<string, GivenCall>>
  readonly input: In
}

/** An operation's name alone calls it as its first example does. */
export type GivenCall = string | { readonly operation: string; readonly input: unknown }

const mark = "result_of"

/** Stands for the result of a given call: `resultOf("dataset.slug")`, the given's name and a dotted path. */
export function resultOf(path: string): never {
  return { [mark]: path } as never
}

/** The path that a value made by `resultOf` names; undefined for any other value. */
export function resultPath(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null || Object.keys(value).length !== 1) return undefined
  const path = (value as Record<string, unknown>)[mark]
  return typeof path === "string" ? path : undefined
}

/** The input with something in place of each `resultOf`. */
export function fulfilled(input: unknown, instead: (path: string, field: string) => unknown, field = ""): unknown {
  const path = resultPath(input)
  if (path !== undefined) return instead(path, field)
  if (Array.isArray(input)) return input.map((item) => fulfilled(item, instead, field))
  if (typeof input !== "object" || input === null) return input
  return Object.fromEntries(Object.entries(input).map(([name, inner]) => [name, fulfilled(inner, instead, name)]))
}

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

/**
 * The operations that MCP offers, for plugins that let a model call them: each call goes the way of any other call, as the
 * caller that it is given.
 */
export const OperationTools = token<OperationTools>("OperationTools")
