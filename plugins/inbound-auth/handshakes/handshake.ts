// Setup handshakes: a provider checks the receiver of its events before it sends them. A handshake responds only to its
// provider's exact request. Other requests are events.
import { type HandshakeResponse, isRecord, type VerificationSecret } from "#core"
import type { KeyFetcher } from "../key-fetcher.ts"
import type { ProviderConfig } from "../provider-settings.ts"
import type { RequestView } from "../request/view.ts"
import type { Matcher } from "../schemes/signed-request.ts"

export interface HandshakeContext {
  readonly view: RequestView
  readonly config: ProviderConfig
  /** Live secrets, without empty ones. */
  readonly secrets: readonly VerificationSecret[]
  readonly match: Matcher
  readonly fetcher: KeyFetcher
  /** Logs the outcome of work that continues after the response. */
  readonly note: (message: string) => void
}

export type Handshake = (context: HandshakeContext) => HandshakeResponse | undefined

// Response formats of handshakes, and the check of untrusted text before it is echoed.

export function textAnswer(body: string, status = 200): HandshakeResponse {
  return { status, headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" }, body }
}

export function jsonAnswer(value: unknown, status = 200): HandshakeResponse {
  return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(value) }
}

export const emptyAnswer = (status: number): HandshakeResponse => ({ status, body: "" })

const printable = /^[\x20-\x7e]{1,1024}$/

/** Returns the text if it is short and printable. Other texts are not challenges. */
export function echoable(text: unknown): string | undefined {
  return typeof text === "string" && printable.test(text) ? text : undefined
}

/** Returns a top-level member of a JSON body. */
export function member(view: RequestView, name: string): unknown {
  const { document } = view
  return isRecord(document) && Object.hasOwn(document, name) ? document[name] : undefined
}

/** Events are always POST requests, so this cheap check comes first. */
export function isPost(view: RequestView): boolean {
  return view.request.method === "POST"
}

/** Query and header values of a handshake must be single. Repeated values are not a handshake. */
export function singleQuery(view: RequestView, name: string): string | undefined {
  const value = Object.hasOwn(view.request.query, name) ? view.request.query[name] : undefined
  return typeof value === "string" && value !== "" ? value : undefined
}

export function singleHeader(view: RequestView, name: string): string | undefined {
  const value = view.request.headers[name]
  return typeof value === "string" && value !== "" ? value : undefined
}
