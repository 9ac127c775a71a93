// `POST /mcp`: streamable HTTP without sessions, so any node can answer. The bearer key and the Origin of a request are checked
// once, before the protocol. Its calls are counted and authorised like any other call.

import type { IncomingMessage } from "node:http"
import { toNodeHandler } from "@modelcontextprotocol/node"
import {
  type AuthInfo,
  createMcpHandler,
  isLegacyRequest,
  legacyStatelessFallback,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server"
import type { Request as HttpRequest, Response as HttpResponse } from "express"
import type { AnyCaller, Credentials } from "../../contract/caller.ts"
import type { AnyOperation } from "../../contract/operation.ts"
import { AppError } from "../../kernel/errors.ts"
import { parsedJson } from "../../kernel/json.ts"
import type { Logger } from "../../kernel/log.ts"
import { nameWork } from "../../kernel/request-scope.ts"
import { fromHeaders } from "../../kernel/tracing.ts"
import { authorise } from "../call/authorise.ts"
import { rateLimitHeaders } from "../call/rate-limit.ts"
import { methodNotAllowed } from "../http/answer.ts"
import { credentialsOf } from "../http/credentials.ts"
import { defaultMaxBodyBytes, readJsonText, refuseRounded } from "../http/json-body.ts"
import type { Invoker } from "../invoke.ts"
import { selectionOf, ToolCatalog } from "./catalog.ts"
import { readablesOf } from "./resources.ts"
import { mcpServer } from "./server.ts"
import { HttpMcpSession } from "./session.ts"

export interface McpHttpDeps {
  readonly operations: readonly AnyOperation[]
  readonly invoker: Invoker
  readonly log: Logger
  readonly corsOrigins: readonly string[]
  /** Base of the public URLs of the service. */
  readonly publicUrl: () => string
  readonly addressOf: (request: HttpRequest) => string
  /** Name of the session's cookie. */
  readonly sessionCookie: string
}

export interface McpHttp {
  handle(request: HttpRequest, response: HttpResponse): Promise<void>
  /** Ends open streams, so the server can stop. */
  close(): Promise<void>
}

export const mcpMethods = ["POST", "OPTIONS"]

const maxListeners = 256
/** The protocol's transport requires both types. The service answers with the type accepted by the client. */
const bothTypes = "application/json, text/event-stream"

/** Request data for the protocol's handlers. */
interface Exchange {
  readonly session: HttpMcpSession
  /** The parsed body; undefined if it is not JSON. */
  readonly body: unknown
  readonly acceptsEvents: boolean
}

export function createMcpHttp(deps: McpHttpDeps): McpHttp {
  const catalog = new ToolCatalog(deps.operations)
  const readables = readablesOf(deps.operations)
  const onerror = (error: Error) => deps.log.debug({ err: error }, "an MCP message was refused")
  const limits = { maxRequestBodySize: defaultMaxBodyBytes, onerror }
  const serverFor = ({ authInfo }: { authInfo?: AuthInfo }) => mcpServer(exchangeIn(authInfo).session)
  const current = createMcpHandler(serverFor, { ...limits, legacy: "reject", maxSubscriptions: maxListeners })
  const older = legacyStatelessFallback(serverFor, onerror, limits)
  const serve = toNodeHandler({ fetch: exchanged }, limits)

  /** Answers in the client's protocol revision, as JSON or as events. */
  async function exchanged(request: Request, given?: { authInfo?: AuthInfo }): Promise<Response> {
    const { session, body, acceptsEvents } = exchangeIn(given?.authInfo)
    const options = { ...given, ...(body === undefined ? {} : { parsedBody: body }) }
    const answer = async () => {
      if (!(await isLegacyRequest(request, body, limits))) return await current.fetch(request, options)
      return acceptsEvents ? await older(request, options) : await asJson(request, options)
    }
    const response = await answer()
    // The tool list is cached text.
    if (session.page === undefined || !response.ok) return response
    const text = (await response.text()).replace('"tools":[]', () => `"tools":${session.page}`)
    return new Response(text, { status: response.status, headers: response.headers })
  }

  async function asJson(request: Request, options: { authInfo?: AuthInfo; parsedBody?: unknown }): Promise<Response> {
    const server = serverFor(options)
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true, maxRequestBodySize: defaultMaxBodyBytes })
    await server.connect(transport)
    const close = () => void server.close().catch(onerror)
    request.signal.addEventListener("abort", close, { once: true })
    try {
      return await transport.handleRequest(request, options)
    } finally {
      close()
    }
  }

  async function handle(request: HttpRequest, response: HttpResponse): Promise<void> {
    response.locals["operation"] = "mcp"
    nameWork({ operation: "mcp" })
    refuseForeignOrigin(request, { origins: deps.corsOrigins, publicUrl: deps.publicUrl() })
    if (request.method !== "POST") throw methodNotAllowed(request.method, "/mcp", mcpMethods)
    const credentials = credentialsOf(request, response, {
      surface: "mcp",
      log: deps.log,
      address: deps.addressOf(request),
      cookie: deps.sessionCookie,
    })
    const caller = await admitted(deps.invoker, credentials, response)
    const view = catalog.view(caller, selectionOf(request.url))
    const text = await readJsonText(request)
    const body = parsedJson(text)
    if (body !== undefined) refuseRounded(text)
    const session = await HttpMcpSession.open({ invoker: deps.invoker, credentials, caller, view, readables }, body)
    const exchange: Exchange = { session, body, acceptsEvents: /text\/event-stream/i.test(request.get("accept") ?? "") }
    const { id } = caller.credential
    const auth: AuthInfo = { token: id, clientId: id, scopes: [...(caller.scopes ?? [])], extra: { exchange } }
    // The body is already decompressed and decoded, so the sender's headers no longer describe it.
    const { "content-encoding": _, "content-length": __, ...sent } = request.headers
    const headers = { ...sent, accept: bothTypes, "content-type": "application/json" }
    const { method, url } = request
    // Trace context inside a message takes precedence.
    await fromHeaders(headers, () => serve({ method, url, headers, auth, [Symbol.asyncIterator]: () => once(text) }, response))
  }

  return { handle, close: () => current.close() }
}

async function* once(body: string): AsyncGenerator<Buffer> {
  if (body !== "") yield Buffer.from(body)
}

async function admitted(invoker: Invoker, credentials: Credentials, response: HttpResponse): Promise<AnyCaller> {
  const caller = await invoker.admit(credentials, { quotas: (quotas) => void response.set(rateLimitHeaders(quotas)) })
  try {
    authorise({ scope: "mcp", role: "guest", withoutOrganization: true }, caller, "MCP")
  } catch (error) {
    response.set("WWW-Authenticate", 'Bearer realm="millrace", error="insufficient_scope", scope="mcp"')
    throw error
  }
  return caller
}

function exchangeIn(auth: AuthInfo | undefined): Exchange {
  const exchange = auth?.extra?.["exchange"]
  if (exchange === undefined) throw new Error("An MCP request has no exchange.")
  return exchange as Exchange
}

// Protects against pages of other sites and DNS rebinding. An Origin must be configured, local, or the service's own. On a
// loopback address the Host must also be local.

const local = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i

/** Throws `permission_denied`. */
function refuseForeignOrigin(request: IncomingMessage, args: { origins: readonly string[]; publicUrl: string }): void {
  const own = new URL(args.publicUrl)
  const { origin, host = "" } = request.headers
  const onLoopback = local.test(addressName(request.socket.localAddress))
  const hostName = /^(\[[^\]]+\]|[^:]*)(?::\d+)?$/.exec(host)?.[1] ?? host
  if (onLoopback && !local.test(hostName) && hostName.toLowerCase() !== own.hostname) throw foreign("Host", host)
  if (origin === undefined || args.origins.includes("*") || args.origins.includes(origin) || origin === own.origin) return
  if (!(onLoopback && URL.canParse(origin) && local.test(new URL(origin).hostname))) throw foreign("Origin", origin)
}

function addressName(address = ""): string {
  const plain = address.replace(/^::ffff:/, "")
  return plain === "::1" ? "[::1]" : plain
}

function foreign(header: string, value: string): AppError {
  const message = `${header}: "${value}" is not allowed; add it to server.cors_origins, or set MILLRACE_PUBLIC_URL.`
  return new AppError("permission_denied", message, { reason: "origin_not_allowed" })
}
