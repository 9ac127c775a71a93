// The interface of the sandbox. Foreign schemas and transforms enter as text and run in isolates of a child process. Results are
// data or a cause. Foreign code cannot end this process.
import { token } from "../../kernel/di.ts"
import type { Share } from "../../kernel/fair-scheduler.ts"
import type { WrittenLine } from "../../kernel/log-lines.ts"
import type { ProgramSource } from "./compiler.ts"
import type { Mapping } from "./mapping/mapping.ts"

/** A compiled schema and transform. The digest identifies the program. */
export interface Program {
  readonly digest: string
  /** Standalone validator (JavaScript source). null without a schema. */
  readonly validator: string | null
  readonly transform: string | null
  /** null if the transform's source does not determine the fields, or without a transform. */
  readonly fields: ResultFields | null
  /** null if the program needs an isolate. */
  readonly mapping: Mapping | null
}

/** The fields that a transform's result can have. */
export interface ResultFields {
  readonly names: readonly string[]
  /** True if the result also has all fields of the event. */
  readonly withEvent: boolean
  /** True if the result has no other fields. */
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

/** Input of the sandbox for an event. The sandbox parses the body once. */
export interface SandboxCall {
  readonly organization: string
  readonly pipelineId: string
  readonly program: Program
  /** The body as JSON text. Forms are already converted. */
  readonly body: string
  /**
   * JSON of `{ headers, query, envelope, received_at }` for the transform's second argument. Read only if the transform has that
   * argument.
   */
  readonly context: string
  /** Milliseconds since the epoch. The transform's clock has this fixed time. */
  readonly receivedAt: number
  /** Seed of Math.random. */
  readonly seed: string
  /** Returns `payload` as well, because templates read it or the entry stores it. */
  readonly wantsPayload?: boolean
  /** Set for a script (contract/sandbox.ts). The unchanged body is its input. */
  readonly script?: { readonly deadlineMs: number }
}

/** Includes the console lines of the transform, if any. */
export type SandboxResult = RunResult & { readonly logs?: readonly WrittenLine[] }

export type RunResult =
  /**
   * `event` is JSON text of the transform's result, or of the payload without a transform. It is "null" for null or undefined.
   * `envelope` and `isTest` come from the body.
   */
  | {
      readonly ok: true
      readonly event: string
      readonly payload: string | null
      readonly envelope: string | null
      readonly isTest: boolean | null
    }
  /** The body is not JSON, not the required object, or does not match the schema. Pointers refer to the body. */
  | {
      readonly ok: false
      readonly kind: "malformed" | "invalid"
      readonly message: string
      readonly errors: readonly { pointer: string; message: string; keyword?: string }[]
    }
  /** The transform (or a schema's regex) threw, exceeded time or memory, or returned a value that is not JSON. */
  | {
      readonly ok: false
      readonly kind: "threw" | "timeout" | "memory" | "bad_result" | "penalty" | "unavailable"
      readonly message: string
      readonly line?: number
      readonly retryAfterS?: number
    }

export type MappedResult = SandboxResult & { readonly ok: true }

export interface Sandbox {
  /**
   * Compiles in a child of the organization, within 256 KiB and 2 s. Returns problems as data. Rejects with `unavailable` if the
   * result is unknown.
   */
  compile(source: ProgramSource): Promise<{ program: Program | null; problems: readonly ProgramProblem[] }>
  run(call: SandboxCall): Promise<SandboxResult>
  /**
   * Runs a program that only rearranges fields synchronously in this process (mapping/mapping.ts). Returns undefined if the
   * program needs `run`.
   */
  map(call: SandboxCall): MappedResult | undefined
  /** Drops a pipeline's isolate. */
  forget(pipelineId: string): void
  /** Returns the waiting calls, longest wait first. */
  shares(): { readonly sandbox: readonly Share[]; readonly compiler: readonly Share[] }
  start(): Promise<void>
  stop(): Promise<void>
}

export const Sandbox = token<Sandbox>("Sandbox")
