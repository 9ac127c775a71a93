// A vendor on loopback for behaviour beyond the standard. Its authorization server grants to every client and answers as the test
// decides.
// It checks codes, PKCE, client secrets and refresh tokens; each grant has its own tokens.
import { createHash } from "node:crypto"
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

export const vendorClient = { client_id: "vendor-client", client_secret: "VENDOR-CLIENT-SECRET-0123456789" }

export interface VendorRequest {
  readonly path: string
  readonly authorization: string
  readonly headers: IncomingHttpHeaders
  readonly isJson: boolean
  readonly query: URLSearchParams
  readonly form: URLSearchParams
}

export type Handler = (request: VendorRequest, response: ServerResponse) => void

export interface VendorServer {
  readonly origin: string
  readonly asked: VendorRequest[]
  /** Requests of one path. */
  at(path: string): VendorRequest[]
  /** True if a refresh token works only once. */
  rotates: boolean
  /** Added to token responses. */
  told: Record<string, unknown>
  /** Handlers by path that replace the vendor's own. */
  readonly on: Map<string, Handler>
  /** The vendor's own handler. */
  readonly does: Handler
  close(): Promise<void>
}

export async function startVendorServer(): Promise<VendorServer> {
  const challenges = new Map<string, string>()
  const refreshTokens = new Set<string>()
  let count = 0
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const own: VendorServer = {
    origin,
    asked: [],
    at: (path) => own.asked.filter((request) => request.path === path),
    rotates: false,
    told: {},
    on: new Map(),
    does: (request, response) => (handlers[request.path] ?? api)(request, response),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", origin)
    let text = ""
    for await (const chunk of request.setEncoding("utf8")) text += String(chunk)
    const { authorization = "" } = request.headers
    const isJson = request.headers["content-type"] === "application/json" && text !== ""
    const form = new URLSearchParams(isJson ? (JSON.parse(text) as Record<string, string>) : text)
    const query = { path: url.pathname, authorization, isJson, query: url.searchParams, form, headers: request.headers }
    own.asked.push(query)
    const handler = own.on.get(url.pathname) ?? own.does
    handler(query, response)
  }

  const handlers: Record<string, Handler> = {
    "/authorize"({ query }, response) {
      const code = `code-${count++}`
      challenges.set(code, query.get("code_challenge") ?? "")
      const back = new URL(query.get("redirect_uri") ?? "")
      back.searchParams.set("code", code)
      back.searchParams.set("state", query.get("state") ?? "")
      response.writeHead(303, { location: back.href }).end()
    },
    "/token"({ form }, response) {
      const isClient = form.get("client_id") === vendorClient.client_id && form.get("client_secret") === vendorClient.client_secret
      if (!isClient) return json(response, 401, { error: "invalid_client" })
      if (form.get("grant_type") === "refresh_token") {
        const refresh_token = form.get("refresh_token") ?? ""
        if (!refreshTokens.has(refresh_token)) return json(response, 400, { error: "invalid_grant" })
        if (own.rotates) refreshTokens.delete(refresh_token)
      } else {
        const code = form.get("code") ?? ""
        const proof = createHash("sha256")
          .update(form.get("code_verifier") ?? "")
          .digest("base64url")
        if (challenges.get(code) !== proof) return json(response, 400, { error: "invalid_grant" })
        challenges.delete(code)
      }
      const refresh_token = `REFRESH-TOKEN-${count}-0123456789`
      refreshTokens.add(refresh_token)
      json(response, 200, {
        access_token: `ACCESS-TOKEN-${count++}-0123456789`, token_type: "Bearer", expires_in: 3_600, refresh_token, ...own.told,
      }) // biome-ignore format: one answer
    },
    "/revoke": (_, response) => json(response, 200, {}),
  }
  const api: Handler = (_, response) => json(response, 200, { ok: true })

  return own
}

export function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
}
