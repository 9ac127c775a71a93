// Requests of OAuth 2, made by oauth4webapi over the guarded outgoing client. This file validates answers of authorization
// servers. Storage is decided elsewhere.
import * as oauth from "oauth4webapi"
import { AppError, type OutgoingHttp } from "#core"
import { asOrganization } from "../../../platform/outgoing-http/index.ts"
import type { OAuthClient, OAuthProvider } from "../apps/oauth-provider.ts"
import { originOf, toldAt } from "./api-origin.ts"
import { standardAnswer } from "./vendor-answers.ts"

/** An answer of a token endpoint. */
export interface TokenAnswer {
  readonly access_token: string
  readonly refresh_token?: string | undefined
  /** Seconds. */
  readonly expires_in?: number | undefined
  readonly scope?: string | undefined
  /** API origin of the account, if reported. */
  readonly api_origin?: string | undefined
}

/** The authorization server rejected the code or refresh token (`invalid_grant`). */
export class GrantRefused extends Error {}

/** The user or the authorization server denied access. `error` is OAuth's code. */
export class AuthorizationDenied extends Error {
  readonly error: string

  constructor(error: string) {
    super(`The authorization server answered ${error}.`)
    this.error = error
  }
}

interface Exchange {
  /** Query of the callback. */
  readonly parameters: URLSearchParams
  readonly state: string
  readonly redirectUri: string
  readonly verifier: string
}

/** Longer than most servers take. An abandoned response may contain the only valid refresh token. */
export const tokenTimeoutMs = 60_000
const maxAnswerBytes = 262_144
const jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"

export class OAuthProtocol {
  readonly #http: OutgoingHttp

  constructor({ http }: { readonly http: OutgoingHttp }) {
    this.#http = http
  }

  /** Returns the protocol with calls of an organization. */
  of(organization: string): OAuthProtocol {
    return new OAuthProtocol({ http: asOrganization(this.#http, organization) })
  }

  async authorizationUrl(
    provider: OAuthProvider,
    client: OAuthClient,
    request: { readonly redirectUri: string; readonly state: string; readonly verifier: string; readonly scopes: readonly string[] },
  ): Promise<string> {
    const url = new URL(provider.authorization_endpoint)
    const parameters = {
      ...provider.parameters,
      response_type: "code",
      client_id: client.client_id,
      redirect_uri: request.redirectUri,
      state: request.state,
      code_challenge: await oauth.calculatePKCECodeChallenge(request.verifier),
      code_challenge_method: "S256",
      ...(request.scopes.length > 0 ? { scope: request.scopes.join(provider.scope_separator) } : {}),
    }
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    return url.href
  }

  /** Throws AuthorizationDenied for an error response, GrantRefused for an invalid code, AppError `unavailable` for others. */
  async exchange(provider: OAuthProvider, client: OAuthClient, exchange: Exchange): Promise<TokenAnswer> {
    return await this.#asked(provider, undefined, async (server, options) => {
      const registered = { client_id: client.client_id }
      const { parameters, state, redirectUri, verifier } = exchange
      const checked = oauth.validateAuthResponse(server, registered, responseOf(provider, parameters), state)
      const authentication = authenticationOf(provider, client)
      const answer = await oauth.authorizationCodeGrantRequest(
        server, registered, authentication, checked, redirectUri, verifier, options,
      ) // biome-ignore format: positional
      return answerOf(provider, await oauth.processAuthorizationCodeResponse(server, registered, answer))
    })
  }

  /**
   * Returns the API origin of a new grant, or undefined for apps with a single origin. Throws AppError if the server reports no
   * allowed origin.
   */
  async apiOrigin(provider: OAuthProvider, answer: TokenAnswer): Promise<string | undefined> {
    const { api_origin } = provider
    if (api_origin === undefined || answer.api_origin !== undefined) return answer.api_origin
    const { url } = api_origin
    const origin =
      url === undefined ? undefined : originOf(api_origin, await toldAt(this.#http, { ...api_origin, url }, answer.access_token))
    if (origin === undefined)
      throw failed(provider, `what it tells under ${api_origin.field} is not a URL below ${api_origin.hosts.join(" or ")}`)
    this.#http.check(origin)
    return origin
  }

  /** Throws GrantRefused for an invalid refresh token, and AppError `unavailable` if a retry makes sense. */
  async refresh(provider: OAuthProvider, client: OAuthClient, refreshToken: string, signal?: AbortSignal): Promise<TokenAnswer> {
    return await this.#asked(provider, signal, async (server, options) => {
      const registered = { client_id: client.client_id }
      const answer = await oauth.refreshTokenGrantRequest(server, registered, authenticationOf(provider, client), refreshToken, options)
      return answerOf(provider, await oauth.processRefreshTokenResponse(server, registered, answer))
    })
  }

  /** Exchanges the assertion of a service account for a token (RFC 7523). Throws GrantRefused if the server refuses the assertion. */
  async assert(provider: OAuthProvider, issuer: string, assertion: string): Promise<TokenAnswer> {
    return await this.#asked(provider, undefined, async (server, options) => {
      const registered = { client_id: issuer }
      // The assertion names its issuer. The request has no client.
      const answer = await oauth.genericTokenEndpointRequest(server, registered, () => {}, jwtBearer, { assertion }, options)
      return answerOf(provider, await oauth.processGenericTokenEndpointResponse(server, registered, answer))
    })
  }

  /** Does nothing if the server has no revocation endpoint, or the token is no longer valid. */
  async revoke(
    provider: OAuthProvider,
    client: OAuthClient,
    { access_token, refresh_token }: Pick<TokenAnswer, "access_token" | "refresh_token">,
  ): Promise<void> {
    const { revocation_endpoint: url, revocation_auth } = provider
    if (url === undefined) return
    const isOfToken = revocation_auth === "token"
    const tokens = refresh_token === undefined || isOfToken ? [access_token] : [refresh_token, access_token]
    for (const token of tokens) {
      try {
        await this.#asked(provider, undefined, async (server, options) => {
          const headers = { authorization: `Bearer ${token}`, "content-type": "application/x-www-form-urlencoded" }
          const registered = { client_id: client.client_id }
          const answer = isOfToken
            ? await options[oauth.customFetch](url, { method: "POST", headers, body: "" })
            : await oauth.revocationRequest(server, registered, authenticationOf(provider, client), token, options)
          await oauth.processRevocationResponse(answer)
        })
      } catch (error) {
        if (!(error instanceof GrantRefused)) throw error
      }
    }
  }

  async #asked<T>(
    provider: OAuthProvider,
    signal: AbortSignal | undefined,
    ask: (server: oauth.AuthorizationServer, options: RequestOptions) => Promise<T>,
  ): Promise<T> {
    try {
      return await ask(serverOf(provider), this.#options(provider, signal))
    } catch (error) {
      if (error instanceof AppError)
        throw error.details.reason === "response_too_large" ? failed(provider, "its answer is too large") : error
      if (error instanceof oauth.AuthorizationResponseError) throw new AuthorizationDenied(error.error)
      if (error instanceof oauth.ResponseBodyError) {
        if (error.error === "invalid_grant") throw new GrantRefused("invalid_grant", { cause: error })
        throw failed(provider, `it answered ${error.status} ${plainCode(error.error)}`)
      }
      throw failed(provider, `its answer is not usable (${error instanceof Error ? plainCode(error.message) : "unknown"})`)
    }
  }

  #options(provider: OAuthProvider, signal: AbortSignal | undefined): RequestOptions {
    return {
      // Endpoints with http exist on loopback only.
      [oauth.allowInsecureRequests]: provider.token_endpoint.startsWith("http:"),
      [oauth.customFetch]: async (url: string, { method, headers, body }: FetchOptions) => {
        const form = body === undefined || body === null ? "" : String(body)
        const isJson = provider.token_body === "json"
        const answered = await this.#http.fetch({
          url,
          method,
          headers: { ...provider.headers, ...headers, ...(isJson ? { "content-type": "application/json" } : {}) },
          redirects: "manual",
          timeoutMs: tokenTimeoutMs,
          maxBytes: maxAnswerBytes,
          ...(signal ? { signal } : {}),
          body: isJson ? JSON.stringify(Object.fromEntries(new URLSearchParams(form))) : form,
        })
        const contentType = answered.headers["content-type"]
        const { status, text, json } = standardAnswer(provider, { ...answered, contentType })
        const type = json ? "application/json" : contentType
        const empty = [204, 205, 304].includes(status)
        return new Response(empty ? null : text, { status, headers: type ? { "content-type": type } : {} })
      },
    }
  }
}

function answerOf({ api_origin: origin }: OAuthProvider, answer: oauth.TokenEndpointResponse): TokenAnswer {
  const { access_token, refresh_token, expires_in, scope } = answer
  const api_origin = origin && origin.url === undefined ? originOf(origin, answer[origin.field]) : undefined
  return { access_token, refresh_token, expires_in, scope, api_origin }
}

interface FetchOptions {
  readonly method: string
  readonly headers: Record<string, string>
  readonly body?: unknown
}

type RequestOptions = Pick<oauth.TokenEndpointRequestOptions, typeof oauth.allowInsecureRequests> & {
  [oauth.customFetch]: (url: string, options: FetchOptions) => Promise<Response>
}

function serverOf({ issuer, authorization_endpoint, token_endpoint, revocation_endpoint }: OAuthProvider): oauth.AuthorizationServer {
  return {
    issuer: issuer ?? new URL(token_endpoint).origin,
    authorization_response_iss_parameter_supported: issuer !== undefined,
    authorization_endpoint,
    token_endpoint,
    ...(revocation_endpoint === undefined ? {} : { revocation_endpoint }),
  }
}

/** Removes `iss` if the app declares no issuer. The separate redirect URI of each app identifies the server. */
function responseOf({ issuer }: OAuthProvider, params: URLSearchParams): URLSearchParams {
  const parameters = new URLSearchParams(params)
  if (issuer === undefined) parameters.delete("iss")
  return parameters
}

function authenticationOf({ client_auth }: OAuthProvider, { client_secret }: OAuthClient): oauth.ClientAuth {
  if (client_secret === undefined) return oauth.None()
  return client_auth === "body" ? oauth.ClientSecretPost(client_secret) : oauth.ClientSecretBasic(client_secret)
}

/** Returns a code or message of the library without line breaks. Server text must not add lines to a log. */
function plainCode(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, " ").slice(0, 200)
}

/** Returns the error without a cause. The library's causes contain codes and answers, and these must not be logged. */
function failed({ token_endpoint }: OAuthProvider, problem: string): AppError {
  const { origin } = new URL(token_endpoint)
  return new AppError("unavailable", `The authorization server ${origin} cannot be used now: ${problem}.`, {
    reason: "oauth_server_failed",
    server: origin,
  })
}
