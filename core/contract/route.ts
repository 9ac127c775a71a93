// A public route: raw HTTP without a bearer credential, for direct visits (a published page, a signed link). Prefer an operation
// if possible. A route does its own authorization.

import type { IncomingMessage, ServerResponse } from "node:http"
import { type Deps, type TokenRecord, token } from "../kernel/di.ts"
import type { Logger } from "../kernel/log.ts"
import type { DeclarationKind } from "../kernel/registry.ts"

/** The request of a route. */
export interface RouteRequest {
  /** The declared method. A HEAD request arrives as GET, and the answer's body is dropped. */
  readonly method: Route["method"]
  /** Path and query as received. */
  readonly url: string
  /** The values of the path's braces, percent-decoded. Throws URIError for invalid encoding; the answer is `malformed_path`. */
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  /** Names in lower case. Values of a repeated header are joined with a comma. */
  readonly headers: Readonly<Record<string, string>>
  /** The client's address, as far as proxies are trusted. */
  readonly address: string
  /** The whole body. Throws `resource_exhausted` (413) beyond the route's `maxBodyBytes`. */
  body(): Promise<Uint8Array>
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
  readonly requestId: string
  readonly log: Logger
}

/** The answer of a route. */
export interface RouteResponse {
  /** Default 200. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /** Chunks are read at the client's speed. An error of the source cuts the connection. */
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>
  /** The body is a public text. It is tagged and compressed once. A client with the current tag receives 304. */
  readonly shared?: true
}

/** The OpenAPI description of a route, beyond its name, summary and path. */
export interface RouteDocument {
  readonly description: string
  /** By name of the path parameter. */
  readonly path?: Readonly<Record<string, string>>
  /** By name of the query parameter; all optional. */
  readonly query?: Readonly<Record<string, string>>
  readonly body?: { readonly description: string; readonly content: Readonly<Record<string, object>> }
  /** By status. */
  readonly answers: Readonly<Record<string, { readonly description: string; readonly type?: string }>>
}

/** An HTTP route outside the operations, such as a page for visitors. */
export interface Route<R extends TokenRecord = TokenRecord> {
  /** `<area>.<what>` in snake case, for messages and metrics. */
  readonly name: string
  readonly summary: string
  readonly method: "GET" | "POST" | "PUT" | "DELETE"
  /** Like an operation's path. A last segment `{name+}` matches the rest of the path, slashes included. */
  readonly path: string
  /**
   * The reason for answering while the organization is paused. Without it, a route with `{organization}` in its path is refused
   * during a pause. Other routes check `Pauses` themselves.
   */
  readonly whilePaused?: string
  /** Maximum size of a request's body; default 64 KiB. */
  readonly maxBodyBytes?: number
  /** `any`: pages of any origin may call the route and read the answer. Default: `server.cors_origins`. */
  readonly origins?: "any"
  readonly inject?: R
  /** For the OpenAPI document. Routes without it are left out. */
  readonly document?: RouteDocument
  /** Throws AppError for the standard error answer. Other forms (a "not found" page) are returned. */
  handle(args: { readonly request: RouteRequest; readonly deps: Deps<R> }): Promise<RouteResponse> | RouteResponse
}

// biome-ignore lint/suspicious/noExplicitAny: the registry holds routes that inject anything.
export type AnyRoute = Route<any>

export const Routes: DeclarationKind<AnyRoute> = { kind: "route", nameOf: (route) => route.name }

/** Declares an HTTP route outside the operations. */
export function defineRoute<const R extends TokenRecord = Record<never, never>>(route: Route<R>): Route<R> {
  return route
}

// The inbound endpoint for events. It uses raw HTTP because it is the hot path.

/** Requests under this prefix go to the inbound handler and bypass express. */
export const inboundPrefix = "/v1/inbound/"

export interface InboundHandler {
  /** Answers with `writeHead`, including the request id. A header set earlier makes all headers slower. */
  handle(request: IncomingMessage, response: ServerResponse, requestId: string): void
  /** Stops events in flight. Each is answered 503 soon, if possible. */
  breakOff?(): void
}

export const InboundHandler = token<InboundHandler>("InboundHandler")

/** Base of the service's public URLs, without a trailing slash. Known once the service listens. */
export type PublicUrl = () => string

export const PublicUrl = token<PublicUrl>("PublicUrl")
