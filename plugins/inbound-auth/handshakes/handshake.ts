// Setup handshakes: how a provider makes sure that an endpoint is meant to receive its events. Each answers exactly the
// request its provider sends and is undefined for any other, which is then an event like all others.
import type { HandshakeResponse, VerificationSecret } from "#core"
import type { KeyFetcher } from "../key-fetcher.ts"
import type { ProviderConfig } from "../providers/settings.ts"
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
