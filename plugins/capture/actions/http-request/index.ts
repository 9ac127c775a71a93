// The action type http.request.
import { z } from "zod"
import {
  AnyJson,
  defineAction,
  definePlugin,
  type Json,
  type LintRule,
  OutgoingHttp,
  type Rendered,
  TemplateSlot,
  template,
  templateJson,
  templateRecord,
} from "#core"
import { DataGuards, encodeBody, guardData, withQuery } from "../../../platform/outgoing-http/index.ts"

/** Lint rules of http.request, in addition to its schema. */
const httpRequestRules = {
  "credential-in-document": {
    level: "warning",
    summary: "A header that looks like a credential.",
    why: "Documents are shared and committed, and a credential in a document leaks.",
    remedy: "Connect an integration with the credential and use `integration.call`.",
    bad: "pipeline:\n  - { type: http.request, url: https://api.example.com/leads, headers: { Authorization: Bearer 1234 } }",
    good: "pipeline:\n  - { type: integration.call, integration: crm, path: /leads }",
  },
  "relative-url": {
    level: "error",
    summary: "A URL without its scheme and host.",
    why: "The request has no target; the step would fail for every event.",
    remedy: "Write the whole URL, beginning with https:// or http://.",
    bad: "pipeline:\n  - { type: http.request, url: api.example.com/leads }",
    good: "pipeline:\n  - { type: http.request, url: https://api.example.com/leads }",
  },
  "body-without-method": {
    level: "error",
    summary: "A body on a request whose method does not allow one.",
    why: "GET and HEAD requests have no body; the server would not receive it.",
    remedy: "Use `query`, or another method.",
    bad: "pipeline:\n  - { type: http.request, method: GET, url: https://api.example.com/rates, body: { currency: eur } }",
    good: "pipeline:\n  - { type: http.request, method: GET, url: https://api.example.com/rates, query: { currency: eur } }",
  },
} as const satisfies Record<string, LintRule>

const Scalar = z.union([z.string(), z.number(), z.boolean()])

const config = z.strictObject({
  method: z.enum(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]).default("POST"),
  url: template(z.string().min(1).max(8_192)).describe("Absolute http(s) URL without credentials; private addresses are refused."),
  query: templateRecord().optional().describe("Query parameters added to the URL; null omits one, a list repeats it."),
  headers: templateRecord(Scalar).optional().describe("Request headers."),
  body: templateJson().optional().describe("Sent as JSON unless a header sets another content type."),
})
type Config = Rendered<z.output<typeof config>>

/** Header names that usually carry credentials. */
const credentialHeader = /^(?:authorization|cookie|proxy-authorization|x-.*(?:key|token|secret|auth).*|api-?key)$/i

/** Sends one HTTP request to a public address. For APIs with credentials use integration.call: it keeps them out of the document. */
export const httpRequest = defineAction({
  type: "http.request",
  summary: "Send an HTTP request.",
  description:
    "Follows at most 5 redirects and carries an Idempotency-Key that stays the same over retries and replays. Any status other than 2xx fails the step; 408, 425, 429 and 5xx are retried.",
  timing: "deferred",
  idempotency: "idempotency_key",
  config,
  result: z.object({
    status: z.int(),
    body: AnyJson.describe("Parsed if the response is JSON, its text otherwise."),
    truncated: z.boolean().describe("True if the body was cut."),
  }),
  examples: [
    {
      title: "Tell another system about the event",
      yaml: `type: http.request
url: https://hooks.example.com/leads
headers: { X-Source: "{{ pipeline.slug }}" }
body: { email: "{{ event.email }}", at: "{{ envelope.received_at }}" }`,
    },
    {
      title: "Look something up before the reply",
      yaml: `type: http.request
id: rate
method: GET
url: https://rates.example.com/latest
query: { currency: "{{ event.currency }}" }
await: true`,
    },
  ],
  inject: { http: OutgoingHttp, guards: DataGuards },
  rules: httpRequestRules,
  lint(config) {
    const findings = []
    const headers = config.headers?.source
    for (const name of typeof headers === "object" && headers !== null ? Object.keys(headers) : []) {
      if (!credentialHeader.test(name)) continue
      const message = `The header "${name}" looks like a credential, and would be stored in plain text in the document. Connect an integration and use integration.call.`
      findings.push({ rule: "credential-in-document", level: "warning" as const, message, field: "headers" })
    }
    const url: unknown = config.url instanceof TemplateSlot ? config.url.source : config.url
    if (typeof url === "string" && isRelative(url)) {
      const message = `The url ${JSON.stringify(url.slice(0, 100))} is not absolute; begin it with https:// or http://.`
      findings.push({ rule: "relative-url", level: "error" as const, message, field: "url" })
    }
    if (config.body !== undefined && (config.method === "GET" || config.method === "HEAD")) {
      const message = `A ${config.method} request carries no body; use query, or another method.`
      findings.push({ rule: "body-without-method", level: "error" as const, message, field: "body" })
    }
    return findings
  },
  async run({ config, context, deps }) {
    const { organization, event, dataSince, idempotencyKey, signal } = context
    await guardData(deps.guards, organization.id, [event, config as Json], dataSince)
    return await deps.http.send({ ...requestOf(config), organization: organization.id, idempotencyKey, signal })
  },
  destination: ({ url }) => new URL(url).host,
  preview(config): Json {
    const { url, method, headers, body } = requestOf(config)
    return { method, url, headers, ...(body === undefined ? {} : { body }) }
  },
})

/** Returns true if the text before the first template rules out an absolute http(s) URL. */
function isRelative(url: string): boolean {
  const fixed = url.split(/\{[{%]/, 1)[0] ?? ""
  if (fixed.length < url.length) return fixed !== "" && !/^\s*(h|ht|htt|http|https|https?:\/{0,2}|https?:\/\/.*)$/is.test(fixed)
  return !URL.canParse(url) || !/^https?:\/\//i.test(url.trim())
}

function requestOf(config: Config) {
  const given = Object.fromEntries(Object.entries(config.headers ?? {}).map(([name, value]) => [name, String(value)]))
  const { body, headers } = encodeBody(config.body, given)
  return {
    url: withQuery(config.url, config.query ?? {}),
    method: config.method,
    headers: { ...headers },
    ...(body === undefined ? {} : { body }),
  }
}

export default definePlugin({
  id: "action-http-request",
  needs: ["outgoing-http"],
  config: z.strictObject({}),
  register: (registrar) => registrar.actions(httpRequest),
})
