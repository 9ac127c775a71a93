// `POST /mcp`: streamable HTTP without sessions, so that any node answers. A request is let in once, by its bearer key
// and its Origin, before the protocol is looked at; what it then calls is counted and authorised like any other call.
import { type NodeMcpRequestHandler, toNodeHandler } from "@modelcontextprotocol/node"
import { type AuthInfo, createMcpHandler } from "@modelcontextprotocol/server"
import type { Request, Response } from "express"
import type { Caller, Credentials } from "../../contract/caller.ts"
import type { AnyOperation } from "../../contract/operation.ts"
import type { Logger } from "../../kernel/log.ts"
import { fromHeaders } from "../../kernel/tracing.ts"
import { authorise } from "../call/authorise.ts"
import { rateLimitHeaders } from "../call/rate-limit.ts"
import { credentialsOf } from "../http/credentials.ts"
import { defaultMaxBodyBytes, refuseExcess } from "../http/json-body.ts"
import { methodNotAllowed } from "../http/methods.ts"
import { refuseForeignOrigin } from "../http/origin.ts"
import type { Invoker } from "../invoke.ts"
import { type McpSession, mcpServers } from "./server.ts"

export interface McpHttpDeps {
  readonly operations: readonly AnyOperation[]
  readonly invoker: Invoker
  readonly log: Logger
  readonly corsOrigins: readonly string[]
  /** Base of the URLs that others know the service by. */
  readonly publicUrl: () => string
  readonly addressOf: (request: Request) => string
}

export interface McpHttp {
  handle(request: Request, response: Response): Promise<void>
  /** Ends the streams that are open, so that the server can stop. */
  close(): Promise<void>
}

export const mcpMethods = ["POST", "OPTIONS"]

const maxListeners = 256

export function createMcpHttp(deps: McpHttpDeps): McpHttp {
  const serverFor = mcpServers(deps.operations)
  const onerror = (error: Error) => deps.log.debug({ err: error }, "an MCP message was refused")
  const handler = createMcpHandler(({ authInfo }) => serverFor(sessionIn(authInfo)), {
    maxSubscriptions: maxListeners,
    maxRequestBodySize: defaultMaxBodyBytes,
    onerror,
  })
  const serve: NodeMcpRequestHandler = toNodeHandler(handler, { maxRequestBodySize: defaultMaxBodyBytes, onerror })

  async function handle(request: Request, response: Response): Promise<void> {
    response.locals["operation"] = "mcp"
    refuseForeignOrigin(request, { origins: deps.corsOrigins, publicUrl: deps.publicUrl() })
    if (request.method !== "POST") throw methodNotAllowed(request.method, "/mcp", mcpMethods)
    const credentials = credentialsOf(request, response, { surface: "mcp", log: deps.log, address: deps.addressOf(request) })
    const caller = await admitted(deps.invoker, credentials, response)
    const auth: AuthInfo = {
      token: caller.credential.id,
      clientId: caller.credential.id,
      scopes: [...(caller.scopes ?? [])],
      extra: { session: sessionOf(deps.invoker, credentials, caller) },
    }
    // What a message itself says of its trace wins.
    const body = await bodyOf(request)
    refuseExcess(body.toString())
    const { method, url, headers } = request
    await fromHeaders(headers, () => serve({ method, url, headers, auth, [Symbol.asyncIterator]: () => once(body) }, response))
  }

  return { handle, close: () => handler.close() }
}

/** The bytes of the body, and no more of them than it takes to be refused for its size. */
async function bodyOf(request: Request): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    length += chunk.length
    if (length > defaultMaxBodyBytes) break
  }
  return Buffer.concat(chunks)
}

async function* once(body: Buffer): AsyncGenerator<Buffer> {
  if (body.length > 0) yield body
}

async function admitted(invoker: Invoker, credentials: Credentials, response: Response): Promise<Caller> {
  const caller = await invoker.admit(credentials, { quotas: (quotas) => void response.set(rateLimitHeaders(quotas)) })
  try {
    authorise({ scope: "mcp", role: "guest" }, caller, "MCP")
  } catch (error) {
    response.set("WWW-Authenticate", 'Bearer realm="millrace", error="insufficient_scope", scope="mcp"')
    throw error
  }
  return caller
}

/** The first call of a request was counted when it was let in; further ones, in a batch, are counted as they come. */
function sessionOf(invoker: Invoker, credentials: Credentials, caller: Caller): McpSession {
  let counted = true
  return {
    async call(operation, input, signal) {
      const now = counted ? caller : await invoker.admit(credentials)
      counted = false
      const answer = await invoker.perform(operation, input, now, { signal })
      if (answer.kind === "stream") throw new Error(`${operation.name} answers a stream, and is not a tool.`)
      return answer.body
    },
  }
}

function sessionIn(auth: AuthInfo | undefined): McpSession {
  const session = auth?.extra?.["session"]
  if (session === undefined) throw new Error("An MCP request has no session.")
  return session as McpSession
}
