// The app `http`: any API that is reached at a base URL with fixed headers. A step can reach below the base only, and
// cannot put its own value in place of a credential.
import { z } from "zod"
import { AppError, type OutgoingRequest } from "#core"
import { checkHeaders, encodeBody, withQuery } from "../../outgoing-http/index.ts"
import { defineIntegrationApp, type IntegrationRequest } from "../app.ts"

const HttpCredentials = z.strictObject({
  base_url: z
    .string()
    .max(2_048)
    .refine(isBase, "expected an absolute http(s) URL without user name, password, query or fragment")
    .describe("Base URL of the API, such as https://api.example.com/v2."),
  headers: z.record(z.string(), z.string()).default({}).describe("Sent with every request, such as Authorization."),
})
type HttpCredentials = z.output<typeof HttpCredentials>

export const httpApp = defineIntegrationApp({
  name: "http",
  summary: "Any HTTP API: a base URL and headers with credentials.",
  kind: "native",
  credentials: HttpCredentials,
  check({ base_url, headers }, { http }) {
    checkHeaders(headers)
    http.check(base_url)
  },
  request: requestOf,
})

function requestOf(credentials: HttpCredentials, request: IntegrationRequest): OutgoingRequest {
  const url = urlBelow(credentials.base_url, request.path)
  const own = checkHeaders(credentials.headers)
  const asked = checkHeaders(request.headers ?? {})
  const clash = Object.keys(asked).find((name) => Object.hasOwn(own, name))
  if (clash) throw refused("headers", `"${clash}" belongs to the integration's credentials`)
  const { body, headers } = encodeBody(request.body, { ...own, ...asked })
  return {
    url: withQuery(url, request.query ?? {}),
    method: request.method,
    headers,
    ...(body === undefined ? {} : { body }),
    redirects: "same_origin",
  }
}

function isBase(text: string): boolean {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return false
  const url = new URL(text)
  return !url.username && !url.password && !/[?#]/.test(text) && !/\s/.test(text)
}

/** Dot segments are refused however they are encoded: a value in a path must not climb out of it. */
function urlBelow(base: string, path: string): string {
  if (!path.startsWith("/") || path.startsWith("//")) throw refused("path", 'it must start with one "/"')
  if (/[\\?#\s\p{Cc}]/u.test(path)) throw refused("path", "it holds a space, backslash, ? or #; use the field query")
  if (path.split("/").some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment))) throw refused("path", "it holds a . or .. segment")
  const url = new URL(base.replace(/\/$/, "") + path)
  if (url.origin !== new URL(base).origin) throw refused("path", "it is at another origin")
  return url.href
}

function refused(field: string, problem: string): AppError {
  return new AppError("invalid_argument", `The integration was not called: ${field} is not valid, ${problem}.`, {
    reason: "request_refused",
    retryable: false,
    fields: [{ path: field, message: problem }],
  })
}
