// How a pipeline's inbound events prove where they come from. A mode is prepared once per pipeline into a verifier; a
// verdict always says why, and which part of the request was the proof, so that only that is hidden from what follows.
import type { z } from "zod"
import type { Deps, TokenRecord } from "../kernel/di.ts"
import type { DeclarationKind } from "../kernel/registry.ts"

/** A request as it arrived. Header names are lower case; a repeated header is a list. */
export interface InboundRequest {
  readonly method: string
  /** The public URL as registered with the provider, query included. */
  readonly url: string
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly query: Readonly<Record<string, string | readonly string[]>>
  /** Raw bytes, decompressed if they were sent with a Content-Encoding. */
  readonly body: Buffer
  /** The compressed bytes as sent; absent if the body was not encoded. */
  readonly encodedBody?: Buffer
  /** Milliseconds since the epoch. */
  readonly receivedAt: number
}

/** A verification secret that counts at this moment; while one is rotated out there are two. */
export interface VerificationSecret {
  readonly id: string
  /** As the operator or provider knows it. */
  readonly value: string
  /** Milliseconds since the epoch after which it no longer counts; absent: no end. */
  readonly endsAt?: number
}

/** Where the proof stood; removed before schema, transform, templates, previews and the kept payload see the event. */
export interface Proof {
  readonly headers?: readonly string[]
  readonly query?: readonly string[]
  /** Dotted paths of body fields. */
  readonly body?: readonly string[]
}

/** Stable words; a mode may add its own. */
export type VerdictCause =
  | "wrong_secret"
  | "missing_header"
  | "malformed_signature"
  | "timestamp_missing"
  | "timestamp_too_old"
  | "timestamp_in_future"
  | "body_modified"
  | "duplicate_header"
  | "no_secret"
  | "missing_token"
  | "expired_token"
  | "wrong_audience"
  | "wrong_artifact"
  | (string & {})

/** Whether a request proved where it comes from, and with what, or why not. */
export type Verdict =
  | {
      readonly ok: true
      /** Id of the secret that matched, where there are secrets. */
      readonly secretId?: string
      readonly proof?: Proof
      readonly eventId?: string
      readonly eventType?: string
      /** Claims of a viewer's token; they win over the body's envelope. */
      readonly claims?: { readonly artifact_id?: string; readonly visitor_id?: string; readonly variant?: string }
    }
  | {
      readonly ok: false
      readonly cause: VerdictCause
      /** For the journal: what was expected and what was seen, never the secret or the expected signature. */
      readonly message: string
    }

/** The answer to a provider's setup handshake. */
export interface HandshakeResponse {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string
  /** A secret that the provider delivered in the handshake, to be stored once. */
  readonly deliveredSecret?: string
}

/** An event as it was read out of the sender's own format, in place of the body. */
export interface EventContent {
  readonly body: Buffer
  readonly contentType: string
}

/** The answer that a sender expects to an accepted event. */
export interface Acknowledgement {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** One pipeline's verification, prepared. Must not throw; compares in constant time. */
export interface Verifier {
  verify(request: InboundRequest): Verdict | Promise<Verdict>
  /** Answers GET, HEAD and POST handshakes; undefined when the request is not a handshake. */
  handshake?(request: InboundRequest): HandshakeResponse | undefined
  /**
   * Reads the event out of the sender's own format, once the request is verified. Returns undefined if the body is read as it
   * is. Throws AppError `invalid_argument` for a body that is not of the format.
   */
  content?(request: InboundRequest): EventContent | undefined | Promise<EventContent>
  /** True if the sender may send events by GET. */
  readonly takesGet?: boolean
  /** The answer to an accepted event, unless the pipeline responds. */
  readonly acknowledgement?: Acknowledgement
  /** True when the proof covers the payload, so that fields of the body can be trusted for dedupe. */
  readonly coversBody: boolean
  /** Seconds that the sender waits for an answer, when known. */
  readonly ackTimeoutS?: number
  /** True when the sender repeats an event that was not answered with 2xx. */
  readonly retries: boolean
}

export interface PrepareArgs<C, R extends TokenRecord> {
  readonly config: C
  readonly secrets: readonly VerificationSecret[]
  readonly pipeline: { readonly id: string; readonly organization_id: string; readonly owner_artifact_id: string | null }
  readonly deps: Deps<R>
}

/** What the sender puts on a request as proof. */
export interface SignedParts {
  readonly headers?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
}

export interface SignArgs<C, R extends TokenRecord> {
  readonly config: C
  readonly secret: string
  /** As it will arrive, without proof; signed as of its `receivedAt`. */
  readonly request: InboundRequest
  readonly pipeline: PrepareArgs<C, R>["pipeline"]
  readonly deps: Deps<R>
}

/** One use of an auth mode, for its documentation; tests send an event through each. */
export interface AuthModeExample {
  readonly title: string
  /** `auth_mode` and `auth_config` as they stand in a document, with what else of the document belongs to it. */
  readonly yaml: string
}

export interface AuthMode<C extends z.ZodType = z.ZodType, R extends TokenRecord = TokenRecord> {
  readonly mode: string
  readonly summary: string
  readonly description?: string
  /** `auth_config` without `secret`, which the service keeps apart, encrypted. */
  readonly config: C
  readonly examples?: readonly AuthModeExample[]
  /** Whether a verification secret belongs to this use, and whether the service may generate one. */
  secret(config: z.output<C>): "none" | "generated" | "provided"
  /** Refuses a secret that could never verify (wrong encoding, too short). Throws AppError `invalid_argument`. */
  checkSecret?(secret: string, config: z.output<C>): void
  readonly inject?: R
  prepare(args: PrepareArgs<z.output<C>, R>): Verifier
  /** Signs as the sender would, for tests of pipelines. Throws AppError `unimplemented` where only the sender can. */
  sign?(args: SignArgs<z.output<C>, R>): SignedParts | Promise<SignedParts>
  /** A secret of the right form, the same each time, for tests; needed where not any text will do. */
  testSecret?(config: z.output<C>): string
}

// biome-ignore lint/suspicious/noExplicitAny: the registry holds modes of every config type.
export type AnyAuthMode = AuthMode<any, any>

/** The auth modes that are loaded. */
export const AuthModes: DeclarationKind<AnyAuthMode> = { kind: "auth mode", nameOf: (mode) => mode.mode }

/** Declares an auth mode; `register` hands it to the service. */
export function defineAuthMode<C extends z.ZodType, const R extends TokenRecord = Record<never, never>>(
  mode: AuthMode<C, R>,
): AuthMode<C, R> {
  return mode
}
