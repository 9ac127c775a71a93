// The action type respond.
import { z } from "zod"
import {
  AppError,
  defineAction,
  definePlugin,
  type Json,
  type LintRule,
  type Rendered,
  template,
  templateJson,
  templateRecord,
} from "#core"
import { checkHeaders, refusedHeaders } from "../../../platform/outgoing-http/index.ts"
import { reasons } from "./reasons.ts"

/** Lint rules of respond, in addition to its schema. */
const respondRules = {
  "refused-header": {
    level: "error",
    summary: "A header that a pipeline cannot set.",
    why: "A pipeline may set headers for its body, caching and redirects. Cookies, CORS, lengths, reporting and browser policies affect the whole service, or outlive the response.",
    remedy: "Leave the header out.",
    bad: "pipeline:\n  - { type: respond, headers: { Set-Cookie: seen=1 } }",
    good: "pipeline:\n  - { type: respond, headers: { Cache-Control: no-store } }",
  },
  "invalid-header-value": {
    level: "error",
    summary: "A header's value that no HTTP header can hold.",
    why: "A line break would end the header and begin another; HTTP has no way to send letters outside Latin-1. Each event would fail with it.",
    remedy: "Take line breaks out (a YAML text that begins with `|` ends in one), and percent-encode other letters.",
    bad: 'pipeline:\n  - { type: respond, headers: { X-Note: "one\\ntwo" } }',
    good: 'pipeline:\n  - { type: respond, headers: { X-Note: "one two" } }',
  },
  "redirect-without-location": {
    level: "error",
    summary: "A redirect without a target.",
    why: "A browser shows an empty page for a redirect without a `Location` header.",
    remedy: "Add the header `Location`, or use another status.",
    bad: "pipeline:\n  - { type: respond, status: 303 }",
    good: "pipeline:\n  - { type: respond, status: 303, headers: { Location: https://acme.test/thanks } }",
  },
  "body-without-status": {
    level: "error",
    summary: "A body with a status that does not allow one.",
    why: "Responses with status 204, 205 and 304 have no body; it would be lost.",
    remedy: "Leave `body` out, or use status 200.",
    bad: "pipeline:\n  - { type: respond, status: 204, body: { ok: true } }",
    good: "pipeline:\n  - { type: respond, status: 200, body: { ok: true } }",
  },
} as const satisfies Record<string, LintRule>

/**
 * Headers a pipeline may set: they describe the body, its caching or a redirect. Other headers outlive the response or affect the
 * whole origin.
 */
const allowed: ReadonlySet<string> = new Set([
  "access-control-expose-headers",
  "age",
  "allow",
  "cache-control",
  "content-disposition",
  "content-language",
  "content-location",
  "content-type",
  "etag",
  "expires",
  "last-modified",
  "location",
  "pragma",
  "retry-after",
  "vary",
])

/** Headers also refused at run time: they affect cookies and origins of the whole service. */
const refused: ReadonlySet<string> = new Set([
  ...refusedHeaders,
  "access-control-allow-credentials",
  "access-control-allow-origin",
  "clear-site-data",
  "set-cookie",
  "strict-transport-security",
])

/** Names with the prefix x- that proxies and browsers act on. */
const reserved =
  /^x-(?:accel-|forwarded-|litespeed-|original-|reproxy-|request-id$|rewrite-|sendfile|lighttpd-|frame-options$|content-type-options$|sourcemap$|ua-compatible$|xss-protection$)/

function mayBeSet(name: string): boolean {
  return allowed.has(name) || (name.startsWith("x-") && !reserved.test(name))
}

const policyHeader = "content-security-policy"
/** Keeps content of senders from running as a page of this service, with any content type. */
const containment = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src https: data:"

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
const bodiless: ReadonlySet<number> = new Set([204, 205, 304])

const config = z.strictObject({
  status: template(z.int().min(200).max(599)).optional().describe("HTTP status, 200 to 599; 200 when absent."),
  headers: templateRecord(z.union([z.string(), z.number(), z.boolean()]))
    .optional()
    .describe("Response headers, such as Location for a redirect."),
  body: templateJson().optional().describe("A string is sent as it is, anything else as JSON."),
})
type Config = Rendered<z.output<typeof config>>

/** Sets the reply to the event's sender, sent after the commit. If several steps of a pipeline respond, the last reply counts. */
export const respond = defineAction({
  type: "respond",
  replies: true,
  summary: "Answer the sender.",
  description: "Replaces the default response. It is sent after the commit, so a 2xx still means that everything is on disk.",
  timing: "commit",
  idempotency: "exactly_once",
  config,
  result: z.object({ status: z.int() }),
  examples: [
    {
      title: "Answer with the row's id",
      yaml: `type: respond
status: 201
body: { ok: true, name: "{{ event.name }}" }`,
    },
    {
      title: "Send the browser to a thank-you page",
      yaml: `type: respond
status: 303
headers: { Location: https://acme.test/thanks }`,
    },
  ],
  rules: respondRules,
  lint(config) {
    const findings = []
    const status = config.status?.source
    const headers = config.headers?.source
    const names = typeof headers === "object" && headers !== null ? Object.keys(headers).map((name) => name.toLowerCase()) : []
    if (names.includes(policyHeader)) {
      const message = `The header "${policyHeader}" is reserved for the service: it prevents senders' content from running as a page of this service.`
      findings.push({ rule: "refused-header", level: "error" as const, message, field: "headers" })
    }
    for (const name of names.filter((one) => one !== policyHeader && !mayBeSet(one))) {
      const message = `The header "${name}" cannot be set by a pipeline; ${[...allowed].join(", ")} and names that begin with x- can.`
      findings.push({ rule: "refused-header", level: "error" as const, message, field: "headers" })
    }
    for (const [name, value] of typeof headers === "object" && headers !== null ? Object.entries(headers) : []) {
      const problem = staticProblem(name, value)
      if (problem !== undefined)
        findings.push({ rule: "invalid-header-value", level: "error" as const, message: problem, field: "headers" })
    }
    if (typeof status === "number" && redirects.has(status) && !names.includes("location")) {
      const message = `Status ${status} is a redirect without a Location header.`
      findings.push({ rule: "redirect-without-location", level: "error" as const, message, field: "status" })
    }
    if (typeof status === "number" && bodiless.has(status) && config.body !== undefined) {
      const message = `A response with status ${status} has no body; leave body out or use another status.`
      findings.push({ rule: "body-without-status", level: "error" as const, message, field: "body" })
    }
    return findings
  },
  run({ config, reply }) {
    const answer = answerOf(config)
    reply(answer)
    return { status: answer.status }
  },
  preview: (config): Json => answerOf(config),
})

/**
 * Returns the problem of a header value that fails for every event. Text around outputs is always sent; text between tags may be
 * skipped.
 */
function staticProblem(name: string, value: unknown): string | undefined {
  if (typeof value !== "string" || !mayBeSet(name.toLowerCase())) return undefined
  const text = value.replaceAll(/\{\{(?!-)(?:(?!\}\}|-\}\}).)*\}\}/gs, "")
  if (/\{\{|\{%/.test(text)) return undefined
  try {
    checkHeaders({ [name]: text })
    return undefined
  } catch (error) {
    return (error as AppError).message
  }
}

function answerOf(config: Config) {
  const status = config.status ?? 200
  // Older documents may set headers that are no longer allowed. These headers are left out.
  const given = Object.entries(config.headers ?? {}).filter(([name]) => mayBeSet(name.toLowerCase()) || refused.has(name.toLowerCase()))
  const headers = checkHeaders(Object.fromEntries(given.map(([name, value]) => [name, String(value)])), refused)
  const location = headers["location"]
  if (location !== undefined) headers["location"] = safeLocation(location)
  headers[policyHeader] = containment
  return { status, headers, body: bodiless.has(status) ? null : (config.body ?? null) }
}

/** Returns an http(s) URL, or a path on the same host. Browsers skip tabs and line breaks, and could read another host from them. */
function safeLocation(location: string): string {
  const shown = JSON.stringify(location.slice(0, 100))
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused.
  if (/[\u0000-\u0020\u007f]/.test(location))
    throw refusedLocation(`Location ${shown} is refused: it holds a space or a control character.`)
  const isPath = /^\/(?![/\\])/.test(location)
  if (isPath) return location
  const url = URL.canParse(location) ? new URL(location) : undefined
  if (url && (url.protocol === "http:" || url.protocol === "https:") && !url.username && !url.password) return url.href
  throw refusedLocation(`Location ${shown} is refused: expected an http(s) URL without credentials, or a path that starts with one /.`)
}

function refusedLocation(message: string): AppError {
  return new AppError("invalid_argument", message, { reason: "location_refused", retryable: false })
}

export default definePlugin({
  id: "action-respond",
  reasons,
  needs: ["outgoing-http"],
  config: z.strictObject({}),
  register: (registrar) => registrar.actions(respond),
})
