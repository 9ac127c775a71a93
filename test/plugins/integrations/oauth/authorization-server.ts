// A real authorization server (oidc-provider) on loopback, with an API for its access tokens. The test decides the user's answers
// and the token endpoint's behaviour.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { type Configuration, Provider } from "oidc-provider"

export const client = { client_id: "millrace-test", client_secret: "CLIENT-SECRET-0123456789abcdef" }

export interface ServerOptions {
  /** True if each refresh invalidates the earlier refresh token; its reuse then ends the grant. */
  readonly rotates?: boolean
}

export interface AuthorizationServer {
  readonly issuer: string
  /** Requests of the token endpoint, by grant type. */
  readonly asked: { readonly type: string }[]
  /** Status of each API call. */
  readonly calls: number[]
  /** Awaited before an API call is answered. */
  onCall: () => Promise<void>
  /** The user's answer to the consent page. */
  consents: boolean
  /** Awaited before a request of the token endpoint is handled, and before its answer is sent. */
  before: (type: string) => Promise<void>
  after: (type: string) => Promise<void>
  /** Status sent instead of the token endpoint's answer. */
  fails: number | undefined
  /** Call once the service's URL is known. */
  register(redirectUri: string): void
  readonly provider: Provider
  refreshes(): number
  /** Invalidates all access tokens. */
  endAccessTokens(): Promise<void>
  endEverything(): Promise<void>
  close(): Promise<void>
}

export async function startAuthorizationServer({ rotates = false }: ServerOptions = {}): Promise<AuthorizationServer> {
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  let provider: Provider | undefined
  const accessTokens = new Set<string>()
  const grants = new Set<string>()

  const own: AuthorizationServer = {
    issuer,
    asked: [],
    calls: [],
    onCall: async () => undefined,
    consents: true,
    before: async () => undefined,
    after: async () => undefined,
    fails: undefined,
    register(redirectUri) {
      provider = new Provider(issuer, configuration(redirectUri, rotates))
      provider.on("access_token.saved", ({ jti }) => void accessTokens.add(jti))
      provider.on("grant.success", ({ oidc }) => void (oidc.entities.Grant && grants.add(oidc.entities.Grant.jti)))
    },
    get provider() {
      if (!provider) throw new Error("No redirect URI is registered yet.")
      return provider
    },
    refreshes: () => own.asked.filter(({ type }) => type === "refresh_token").length,
    async endAccessTokens() {
      for (const id of accessTokens) await (await own.provider.AccessToken.find(id))?.destroy()
      accessTokens.clear()
    },
    async endEverything() {
      for (const id of grants) {
        await own.provider.RefreshToken.revokeByGrantId(id)
        await own.provider.AccessToken.revokeByGrantId(id)
      }
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? "/", issuer).pathname
    if (path.startsWith("/interaction/")) return await interact(request, response)
    if (path.startsWith("/api/")) return await callApi(request, response)
    if (path === "/token") return await exchange(request, response)
    await own.provider.callback()(request, response)
  }

  async function interact(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { params, session, prompt } = await own.provider.interactionDetails(request, response)
    if (!own.consents) return await own.provider.interactionFinished(request, response, { error: "access_denied" })
    if (prompt.name === "login") return await own.provider.interactionFinished(request, response, { login: { accountId: "ada" } })
    const grant = new own.provider.Grant({ accountId: session?.accountId ?? "ada", clientId: String(params["client_id"]) })
    grant.addOIDCScope(String(params["scope"] ?? ""))
    await own.provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } })
  }

  async function callApi(request: IncomingMessage, response: ServerResponse): Promise<void> {
    await own.onCall()
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1] ?? ""
    const status = (await own.provider.AccessToken.find(token)) ? 200 : 401
    own.calls.push(status)
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ ok: status === 200 }))
  }

  /** Reads the body first for the grant type. oidc-provider then reads `request.body`. */
  async function exchange(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = ""
    for await (const chunk of request.setEncoding("utf8")) text += String(chunk)
    const body = Object.fromEntries(new URLSearchParams(text))
    const type = body["grant_type"] ?? ""
    own.asked.push({ type })
    await own.before(type)
    if (own.fails !== undefined) {
      response.writeHead(own.fails, { "content-type": "application/json" }).end('{"error":"temporarily_unavailable"}')
      return
    }
    const end = response.end.bind(response)
    response.end = ((...args: Parameters<typeof end>) => {
      void own.after(type).then(() => end(...args))
      return response
    }) as typeof response.end
    await own.provider.callback()(Object.assign(request, { body }), response)
  }

  return own
}

function configuration(redirectUri: string, rotates: boolean): Configuration {
  return {
    clients: [{ ...client, redirect_uris: [redirectUri], grant_types: ["authorization_code", "refresh_token"], response_types: ["code"] }],
    scopes: ["openid", "contacts"],
    pkce: { required: () => true },
    cookies: { keys: ["loopback"] },
    features: { devInteractions: { enabled: false }, revocation: { enabled: true } },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    findAccount: (_context, id) => ({ accountId: id, claims: async () => ({ sub: id }) }),
    issueRefreshToken: async () => true,
    rotateRefreshToken: rotates,
    ttl: {
      AccessToken: 3_600,
      RefreshToken: 86_400,
      Session: 3_600,
      Grant: 86_400,
      Interaction: 600,
      AuthorizationCode: 60,
      IdToken: 3_600,
    },
  }
}
