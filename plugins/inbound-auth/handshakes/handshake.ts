// Setup handshakes: how a provider makes sure that an endpoint is meant to receive its events. Each answers exactly the
// request its provider sends and is undefined for any other, which is then an event like all others.
import { type HandshakeResponse, isRecord, type VerificationSecret } from "#core"
import type { KeyFetcher } from "../key-fetcher.ts"
import type { ProviderConfig } from "../provider-settings.ts"
import type { RequestView } from "../request/view.ts"
import type { Matcher } from "../schemes/signed-request.ts"

export interface HandshakeContext {
  readonly view: RequestView
  readonly config: ProviderConfig
  /** Live secrets, empty ones left out. */
  readonly secrets: readonly VerificationSecret[]
  readonly match: Matcher
  readonly fetcher: KeyFetcher
  /** Says how work that outlives the answer ended. */
  readonly note: (message: string) => void
}

export type Handshake = (context: HandshakeContext) => HandshakeResponse | undefined

// The few shapes that handshake answers have, and how an untrusted text is held to a harmless form before it is echoed.

export function textAnswer(body: string, status = 200): HandshakeResponse {
  return { status, headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" }, body }
}

export function jsonAnswer(value: unknown, status = 200): HandshakeResponse {
  return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(value) }
}

export const emptyAnswer = (status: number): HandshakeResponse => ({ status, body: "" })

const printable = /^[\x20-\x7e]{1,1024}$/

/** The text when it is short and printable; anything else is not a challenge. */
export function echoable(text: unknown): string | undefined {
  return typeof text === "string" && printable.test(text) ? text : undefined
}

/** A top-level member of a JSON body. */
export function member(view: RequestView, name: string): unknown {
  const { document } = view
  return isRecord(document) && Object.hasOwn(document, name) ? document[name] : undefined
}

/** Every request that is an event is a POST; cheap to rule out first. */
export function isPost(view: RequestView): boolean {
  return view.request.method === "POST"
}

/** Query and header values of a handshake must be single; a doubtful one is not a handshake. */
export function singleQuery(view: RequestView, name: string): string | undefined {
  const value = Object.hasOwn(view.request.query, name) ? view.request.query[name] : undefined
  return typeof value === "string" && value !== "" ? value : undefined
}

export function singleHeader(view: RequestView, name: string): string | undefined {
  const value = view.request.headers[name]
  return typeof value === "string" && value !== "" ? value : undefined
}
