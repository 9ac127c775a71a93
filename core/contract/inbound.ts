// The inbound endpoint for events, apart from the operations: raw HTTP, because it is the hot path.
import type { IncomingMessage, ServerResponse } from "node:http"
import { token } from "../kernel/di.ts"

/** Everything under this prefix goes to the inbound handler, never through express. */
export const inboundPrefix = "/v1/inbound/"

export interface InboundHandler {
  /** Answers by `writeHead` with the request's id among the headers: a header that is set before costs all of them more. */
  handle(request: IncomingMessage, response: ServerResponse, requestId: string): void
  /** Breaks off events in flight: each is answered 503 in a moment, if it can be. */
  breakOff?(): void
}

export const InboundHandler = token<InboundHandler>("InboundHandler")

/** Base of the URLs that others know the service by, no trailing slash; known once it listens. */
export type PublicUrl = () => string

export const PublicUrl = token<PublicUrl>("PublicUrl")
