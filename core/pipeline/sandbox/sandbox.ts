// The sandbox as the rest of the engine sees it: foreign schemas and transforms go in as text, run in isolates of a
// child process, and come back as data or as a cause. They cannot end this process.
import { token } from "../../kernel/di.ts"
import type { Share } from "../../kernel/fair-scheduler.ts"
import type { WrittenLine } from "../../kernel/log-lines.ts"
import type { ProgramSource } from "./compiler.ts"
import type { Mapping } from "./mapping/mapping.ts"

/** A schema and a transform, compiled; the digest names the program. */
export interface Program {
  readonly digest: string
  /** Standalone validator (JavaScript source), absent without a schema. */
  readonly validator: string | null
  readonly transform: string | null
  /** null where the transform's source does not tell, and without one. */
  readonly fields: ResultFields | null
  /** null where it takes an isolate. */
  readonly mapping: Mapping | null
}

/** The fields that a transform's result can have. */
export interface ResultFields {
  readonly names: readonly string[]
  /** And all of the event's own. */
  readonly withEvent: boolean
  /** No others. */
  readonly exact: boolean
}

export interface ProgramProblem {
  readonly part: "schema" | "transform"
  readonly message: string
  /** Pointer into the schema, or line and column (from 1) in the transform. */
  readonly pointer?: string
  readonly line?: number
  readonly column?: number
}

/** What the sandbox needs for one event; the body is parsed there, once. */
export interface SandboxCall {
  readonly organization: string
  readonly pipelineId: string
  readonly program: Program
  /** The body as JSON text (forms already turned into it). */
  readonly body: string
  /** JSON of `{ headers, query, envelope, received_at }` for the transform's second argument; only read when the transform takes one. */
  readonly context: string
  /** Milliseconds since the epoch; where the transform's clock stands. */
  readonly receivedAt: number
  /** Of Math.random. */
  readonly seed: string
  /** True when `payload` is wanted back (templates read it, or the entry keeps it). */
  readonly wantsPayload?: boolean
  /** Of a script (contract/sandbox.ts): the body is its input as it stands. */
  readonly script?: { readonly deadlineMs: number }
}

/** With what the transform wrote by `console`, where it wrote anything. */
export type SandboxResult = RunResult & { readonly logs?: readonly WrittenLine[] }

export type RunResult =
  /** `event` is JSON text of what the transform returned (of the payload without one); "null" when it returned null or undefined. `envelope` and `isTest` are what the body carried. */
  | {
      readonly ok: true
      readonly event: string
      readonly payload: string | null
      readonly envelope: string | null
      readonly isTest: boolean | null
    }
  /** Not JSON, not an object where one is needed, or against the schema: pointers into the body. */
  | {
      readonly ok: false
      readonly kind: "malformed" | "invalid"
      readonly message: string
      readonly errors: readonly { pointer: string; message: string; keyword?: string }[]
    }
  /** The transform (or a schema's regex) threw, ran out of time or memory, or gave what is not JSON. */
  | {
      readonly ok: false
      readonly kind: "threw" | "timeout" | "memory" | "bad_result" | "penalty" | "unavailable"
      readonly message: string
      readonly line?: number
      readonly retryAfterS?: number
    }

export type MappedResult = SandboxResult & { readonly ok: true }

export interface Sandbox {
  /** Compiles in a child of the organization's own, bounded in size (256 KiB) and time (2 s). Problems are data; rejects with `unavailable` where it cannot be said whether it compiles. */
  compile(source: ProgramSource): Promise<{ program: Program | null; problems: readonly ProgramProblem[] }>
  run(call: SandboxCall): Promise<SandboxResult>
  /** The same, at once and in this process, where the program only rearranges fields (mapping/mapping.ts); undefined where it is to be run. */
  map(call: SandboxCall): MappedResult | undefined
  /** Lets go of a pipeline's isolate. */
  forget(pipelineId: string): void
  /** Who waits for what, those that wait longest first. */
  shares(): { readonly sandbox: readonly Share[]; readonly compiler: readonly Share[] }
  start(): Promise<void>
  stop(): Promise<void>
}

export const Sandbox = token<Sandbox>("Sandbox")
