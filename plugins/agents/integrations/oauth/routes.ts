// Browser routes: connect_url with a redirect to the authorization server, and the callback.
import { parseCookie, stringifySetCookie } from "cookie"
import { defineRoute, PublicUrl, type PublicUrl as PublicUrlOf, type RouteRequest, type RouteResponse, token } from "#core"
import { type ConnectionLink, ConnectionLinks } from "../connection-links.ts"
import { AuthorizationFailed, type Authorizations, lifeMs, oauthPath, UnknownAuthorization } from "./authorization.ts"
import { authorizationErrorOf } from "./authorization-error.ts"
import { askingPage, ended, messagePage } from "./pages.ts"
import { AuthorizationDenied, GrantRefused } from "./protocol.ts"

export const AuthorizationFlow = token<Authorizations>("OAuth authorizations")

export const authorize = defineRoute({
  name: "integrations.oauth_authorize",
  summary: "Begin an authorization that integrations.connect answered as connect_url.",
  method: "GET",
  path: `${oauthPath}/authorize`,
  whilePaused: "Asks Pauses once the ticket names the organization.",
  inject: { flow: AuthorizationFlow, publicUrl: PublicUrl },
  document: {
    description:
      "Shows which organization asks for access, with a link to the app's authorization server, and a cookie that binds the authorization to the browser.",
    query: { ticket: "As in connect_url; valid for ten minutes." },
    answers: {
      "200": { description: "What is asked for, and by whom.", type: "text/html" },
      "400": { description: "The link is not valid.", type: "text/html" },
    },
  },
  async handle({ request, deps }) {
    try {
      const { cookie, ...page } = await deps.flow.open(request.query.get("ticket") ?? "")
      const secure = deps.publicUrl().startsWith("https:")
      const bound = { path: cookiePath(deps.publicUrl), maxAge: lifeMs / 1_000, httpOnly: true, sameSite: "lax", secure } as const
      return askingPage(page, { cookie: stringifySetCookie({ ...cookie, ...bound }) })
    } catch (error) {
      if (error instanceof UnknownAuthorization)
        return messagePage(400, "This link is not valid any more. Connect the app again for a new one.")
      throw error
    }
  },
})

const finishing = { flow: AuthorizationFlow, links: ConnectionLinks }

const callbackDocument = {
  description:
    "Takes the authorization response (RFC 6749 section 4.1.2, `iss` of RFC 9207), keeps the tokens, and sends the browser to `return_url` with `status` and `integration_id` added; without a `return_url`, to the connection in the console.",
  query: { code: "The code.", state: "The state.", iss: "The issuer.", error: "Why access was not granted." },
  answers: {
    "200": { description: "The app is connected.", type: "text/html" },
    "303": { description: "To the return_url of the authorization, or to the connection in the console." },
    "400": { description: "The response is not one to a request of this browser, or access was not granted.", type: "text/html" },
    "502": { description: "The authorization server failed.", type: "text/html" },
  },
}

export const callback = defineRoute({
  name: "integrations.oauth_callback",
  summary: "End an authorization: the redirect URI of OAuth clients.",
  method: "GET",
  path: `${oauthPath}/callback/{app}`,
  whilePaused: "Asks Pauses once the ticket names the organization.",
  inject: finishing,
  document: { ...callbackDocument, path: { app: "The app." } },
  handle: ({ request, deps }) => finish(request, deps),
})

export const ownAppCallback = defineRoute({
  name: "integrations.own_app_oauth_callback",
  summary: "End an authorization of an organization's own app: the redirect URI of its OAuth client.",
  method: "GET",
  path: `${oauthPath}/callback/{organization}/{app}`,
  inject: finishing,
  document: { ...callbackDocument, path: { organization: "Id of the organization.", app: "The app." } },
  handle: ({ request, deps }) => finish(request, deps),
})

interface FinishDeps {
  readonly flow: Authorizations
  readonly links: readonly ConnectionLink[]
}

async function finish(request: RouteRequest, { flow, links }: FinishDeps): Promise<RouteResponse> {
  const { organization, app = "" } = request.params
  const cookies = parseCookie(request.headers["cookie"] ?? "")
  try {
    const { authorization } = await flow.finish({ organization, app }, request.query, (name) => cookies[name])
    return ended(authorization, links, {
      status: 200,
      result: { status: "connected" },
      text: `${authorization.app} is connected. You can close this window.`,
    })
  } catch (error) {
    if (error instanceof UnknownAuthorization) {
      return messagePage(
        400,
        "This authorization is not valid: it was used before, has expired, or began in another browser. Connect the app again.",
      )
    }
    if (!(error instanceof AuthorizationFailed)) throw error
    const { authorization, cause } = error
    if (cause instanceof AuthorizationDenied) {
      const { reason: code } = authorizationErrorOf(cause)
      const text = `Access to ${authorization.app} was not granted (${code}).`
      return ended(authorization, links, { status: 400, result: { status: "denied", error: code }, text })
    }
    request.log.warn({ err: cause, integration_id: authorization.integration_id, app: authorization.app }, "an OAuth authorization failed")
    const failure = cause instanceof GrantRefused ? "invalid_grant" : "server_error"
    const text = `${authorization.app} could not be connected: its authorization server's answer was not usable. Connect it again.`
    return ended(authorization, links, { status: 502, result: { status: "failed", error: failure }, text })
  }
}

/** Returns the cookie's path. The public URL may have a path before the service's own. */
function cookiePath(publicUrl: PublicUrlOf): string {
  return new URL(`${publicUrl()}${oauthPath}`).pathname
}
