// Verification of inbound events. A mode is prepared once per pipeline into a verifier. Each verdict names its cause and the part
// of the request with the proof. Only this part is hidden from later stages.
import type { z } from "zod"
import type { Deps, TokenRecord } from "../kernel/di.ts"
import type { DeclarationKind } from "../kernel/registry.ts"

/** A request as received. Header names are lower case; a repeated header is a list. */
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

/** A currently valid verification secret. During a rotation there are two. */
export interface VerificationSecret {
  readonly id: string
  /** The secret as the operator or provider has it. */
  readonly value: string
  /** Milliseconds since the epoch; the secret is invalid afterwards. Absent: the secret does not expire. */
  readonly endsAt?: number
}

/** The position of the proof in the request. These parts are removed before schema, transform, templates, previews and storage. */
export interface Proof {
  readonly headers?: readonly string[]
  readonly query?: readonly string[]
  /** Dotted paths of body fields. */
  readonly body?: readonly string[]
}

/** Stable words. A mode may add its own. */
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

/** The result of a verification: proven with a secret, or refused with a cause. */
export type Verdict =
  | {
      readonly ok: true
      /** Id of the matching secret, if the mode uses secrets. */
      readonly secretId?: string
      readonly proof?: Proof
      readonly eventId?: string
      readonly eventType?: string
      /** Claims of a viewer's token. They override the body's envelope. */
      readonly claims?: { readonly artifact_id?: string; readonly visitor_id?: string; readonly variant?: string }
    }
  | {
      readonly ok: false
      readonly cause: VerdictCause
      /** For the journal: the expected and the actual value, without secrets or expected signatures. */
      readonly message: string
    }

/** The answer to a provider's setup handshake. */
export interface HandshakeResponse {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string
  /** A secret delivered by the provider in the handshake. The service stores it once. */
  readonly deliveredSecret?: string
}

/** An event decoded from the sender's own format. It replaces the body. */
export interface EventContent {
  readonly body: Buffer
  readonly contentType: string
}

/** The sender's expected answer to an accepted event. */
export interface Acknowledgement {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The prepared verification of one pipeline. It never throws and compares in constant time. */
export interface Verifier {
  verify(request: InboundRequest): Verdict | Promise<Verdict>
  /** Answers GET, HEAD and POST handshakes. Returns undefined if the request is not a handshake. */
  handshake?(request: InboundRequest): HandshakeResponse | undefined
  /**
   * Decodes the event from the sender's own format after verification. Returns undefined if the body needs no decoding. Throws
   * AppError `invalid_argument` if the body is malformed.
   */
  content?(request: InboundRequest): EventContent | undefined | Promise<EventContent>
  /** True if the sender may send events by GET. */
  readonly takesGet?: boolean
  /** The answer to an accepted event, unless the pipeline responds itself. */
  readonly acknowledgement?: Acknowledgement
  /** True if the proof covers the payload. Dedupe can then trust fields of the body. */
  readonly coversBody: boolean
  /** The sender's timeout in seconds, if known. */
  readonly ackTimeoutS?: number
  /** True if the sender repeats events without a 2xx answer. */
  readonly retries: boolean
}

export interface PrepareArgs<C, R extends TokenRecord> {
  readonly config: C
  readonly secrets: readonly VerificationSecret[]
  readonly pipeline: { readonly id: string; readonly organization_id: string; readonly owner_artifact_id: string | null }
  readonly deps: Deps<R>
}

/** The proof in a sender's request. */
export interface SignedParts {
  readonly headers?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
}

export interface SignArgs<C, R extends TokenRecord> {
  readonly config: C
  readonly secret: string
  /** The request without proof, as the service will receive it. Signed as of its `receivedAt`. */
  readonly request: InboundRequest
  readonly pipeline: PrepareArgs<C, R>["pipeline"]
  readonly deps: Deps<R>
}

/** An example of an auth mode for its documentation. Tests send an event through each example. */
export interface AuthModeExample {
  readonly title: string
  /** `auth_mode` and `auth_config` as written in a document, with the related document fields. */
  readonly yaml: string
}

export interface AuthMode<C extends z.ZodType = z.ZodType, R extends TokenRecord = TokenRecord> {
  readonly mode: string
  readonly summary: string
  readonly description?: string
  /** `auth_config` without `secret`. The service stores the secret separately, encrypted. */
  readonly config: C
  readonly examples?: readonly AuthModeExample[]
  /** Returns the kind of secret for this use: `none`, `generated` (the service may generate it) or `provided` (by the operator). */
  secret(config: z.output<C>): "none" | "generated" | "provided"
  /** Refuses a secret that can never verify (wrong encoding, too short). Throws AppError `invalid_argument`. */
  checkSecret?(secret: string, config: z.output<C>): void
  readonly inject?: R
  prepare(args: PrepareArgs<z.output<C>, R>): Verifier
  /** Signs as the sender does, for tests of pipelines. Throws AppError `unimplemented` if only the sender can sign. */
  sign?(args: SignArgs<z.output<C>, R>): SignedParts | Promise<SignedParts>
  /** A fixed, well-formed secret for tests. Needed if the mode restricts the form of secrets. */
  testSecret?(config: z.output<C>): string
}

// biome-ignore lint/suspicious/noExplicitAny: the registry holds modes of every config type.
export type AnyAuthMode = AuthMode<any, any>

/** The loaded auth modes. */
export const AuthModes: DeclarationKind<AnyAuthMode> = { kind: "auth mode", nameOf: (mode) => mode.mode }

/** Declares an auth mode; `register` hands it to the service. */
export function defineAuthMode<C extends z.ZodType, const R extends TokenRecord = Record<never, never>>(
  mode: AuthMode<C, R>,
): AuthMode<C, R> {
  return mode
}
