// A public route: raw HTTP that needs no bearer credential, for what people and browsers open directly (a published
// page, a signed link). What can be an operation is an operation; a route decides by itself who may have what it gives.

import type { IncomingMessage, ServerResponse } from "node:http"
import { type Deps, type TokenRecord, token } from "../kernel/di.ts"
import type { Logger } from "../kernel/log.ts"
import type { DeclarationKind } from "../kernel/registry.ts"

/** A request, as a route sees it. */
export interface RouteRequest {
  /** As the route declares it: a HEAD request comes as GET, and its answer's body is dropped. */
  readonly method: Route["method"]
  /** Path and query as they came. */
  readonly url: string
  /** What the braces of the path matched, percent-decoded. Throws URIError where that is not possible, answered as `malformed_path`. */
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  /** Names in lower case; a repeated header's values joined with a comma. */
  readonly headers: Readonly<Record<string, string>>
  /** Where the request comes from, as far as proxies are trusted. */
  readonly address: string
  /** The whole body. Throws `resource_exhausted` (413) beyond the route's `maxBodyBytes`. */
  body(): Promise<Uint8Array>
  /** Aborted when the client has gone away. */
  readonly signal: AbortSignal
  readonly requestId: string
  readonly log: Logger
}

/** What a route answers. */
export interface RouteResponse {
  /** 200 unless given. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /** Chunks are taken only as fast as the client reads them; a source that fails later cuts the connection. */
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>
  /** The body is a text that everybody gets: it is tagged and compressed once, and answered 304 where the client has it. */
  readonly shared?: true
}

/** What programs and people may want to know of a route, in OpenAPI's own terms beyond its name, summary and path. */
export interface RouteDocument {
  readonly description: string
  /** By name, of the path. */
  readonly path?: Readonly<Record<string, string>>
  /** By name, of the query; all optional. */
  readonly query?: Readonly<Record<string, string>>
  readonly body?: { readonly description: string; readonly content: Readonly<Record<string, object>> }
  /** By status. */
  readonly answers: Readonly<Record<string, { readonly description: string; readonly type?: string }>>
}

/** A route of HTTP that is not an operation, such as a page that visitors see. */
export interface Route<R extends TokenRecord = TokenRecord> {
  /** `<area>.<what>` in snake case, for messages and metrics. */
  readonly name: string
  readonly summary: string
  readonly method: "GET" | "POST" | "PUT" | "DELETE"
  /** As an operation's, and `{name+}` as the last segment takes the rest of the path, slashes included. */
  readonly path: string
  /**
   * Why the route answers while its organization is paused. A route with `{organization}` in its path is refused then; another
   * one asks `Pauses` itself.
   */
  readonly whilePaused?: string
  /** Of a request's body; 64 KiB unless given. */
  readonly maxBodyBytes?: number
  /** `any`: pages of any origin may call it and read the answer. Otherwise as `server.cors_origins` says. */
  readonly origins?: "any"
  readonly inject?: R
  /** For the OpenAPI document; a route without one is not in it. */
  readonly document?: RouteDocument
  /** Throws AppError for the answer that every surface gives; other shapes (a page that says "not found") are returned. */
  handle(args: { readonly request: RouteRequest; readonly deps: Deps<R> }): Promise<RouteResponse> | RouteResponse
}

// biome-ignore lint/suspicious/noExplicitAny: the registry holds routes that inject anything.
export type AnyRoute = Route<any>

export const Routes: DeclarationKind<AnyRoute> = { kind: "route", nameOf: (route) => route.name }

/** Declares a route that is not an operation. */
export function defineRoute<const R extends TokenRecord = Record<never, never>>(route: Route<R>): Route<R> {
  return route
}

// The inbound endpoint for events, apart from the operations: raw HTTP, because it is the hot path.

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
