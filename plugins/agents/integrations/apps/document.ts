// Schema of an app document: the API's address, the transport of credentials, and the test call. Shipped and user documents have
// the same schema.
import { getDomain } from "tldts"
import { z } from "zod"
import { Name, Slug } from "#core"
import { refusedHeaders } from "../../../platform/outgoing-http/index.ts"
import { isSecureUrl } from "./oauth-provider.ts"

const parameterName = /^[a-z][a-z0-9_]*$/
const placeholder = /\{([^{}]*)\}/g

const Url = z
  .string()
  .max(2_048)
  .refine(
    (text) => /^https?:\/\/[^\s\\@]+$/i.test(text) && URL.canParse(text),
    "expected an absolute http(s) URL without user name or password",
  )

const BaseUrl = z
  .string()
  .max(2_048)
  .refine(
    (text) => /^https?:\/\/[^\s\\@?#]+$/i.test(text) && !text.endsWith("/") && URL.canParse(filled(text, () => "x")),
    "expected an absolute http(s) URL without query, fragment, user name, password or a slash at its end, such as https://{region}.api.example.com/v2",
  )
  .describe("Where the API begins. A parameter stands in it in braces.")

const HeaderName = z.string().regex(/^[A-Za-z0-9-]{1,100}$/, "expected a header name: letters, digits and hyphens")

const SecretHeader = HeaderName.refine(
  (name) => !refusedHeaders.has(name.toLowerCase()),
  "expected a header that the connection does not set itself",
)
const Visible = z.string().regex(/^[\x20-\x7e]*$/, "expected visible ASCII characters and spaces")

/** Placement of a secret in a request. */
const Authorise = z
  .discriminatedUnion("in", [
    z.strictObject({ in: z.literal("bearer") }),
    z.strictObject({ in: z.literal("header"), name: SecretHeader, prefix: Visible.max(50).default("") }),
    z.strictObject({ in: z.literal("basic"), username: Visible.max(100).describe("The user name; the secret is the password.") }),
    z.strictObject({ in: z.literal("query"), name: z.string().min(1).max(100) }),
  ])
  .describe("How the secret is sent: `bearer`, a `header`, the password of `basic`, or a `query` parameter.")
export type Authorise = z.output<typeof Authorise>

const ApiKey = z.strictObject({
  label: z.string().max(300).default("API key.").describe("What the vendor calls it, and where it is found."),
  authorise: Authorise.default({ in: "bearer" }),
})

const Basic = z.strictObject({
  username: z.string().max(300).default("User name.").describe("What the vendor calls the user name."),
  password: z.string().max(300).default("Password.").describe("What the vendor calls the password."),
})

const SecureUrl = z.string().max(2_048).refine(isSecureUrl, "expected an https URL without user name, password or fragment")

const HostSuffix = z
  .string()
  .max(253)
  .refine(isHostSuffix, "expected a host of the vendor's, such as api.example.com, in lower case; what many owners share is too wide")

const OriginFrom = z
  .strictObject({
    url: SecureUrl.optional().describe("Asked by GET with the new token; absent: the token response tells."),
    field: z.string().min(1).max(100).describe("Of the JSON object that tells; holds an absolute URL."),
    hosts: z.array(HostSuffix).min(1).max(20).describe("Hosts that it may name, those below them included."),
    authorise: Authorise.default({ in: "bearer" }).describe("How `url` is sent the token."),
  })
  .describe("Who tells the API's origin, which stands in place of that of base_url.")

const OAuth2 = z.strictObject({
  issuer: SecureUrl.optional().describe("Of a server that names itself in its responses (`iss` of RFC 9207); others are then refused."),
  authorization_url: SecureUrl,
  token_url: SecureUrl,
  revocation_url: SecureUrl.optional(),
  scopes: z.array(z.string().min(1).max(500)).max(100).default([]).describe("Asked for where a caller names none."),
  scope_separator: z.string().min(1).max(3).default(" "),
  client_auth: z.enum(["basic", "body"]).default("body").describe("How the client proves itself at the token URL."),
  token_body: z.enum(["form", "json"]).default("form").describe("How requests to the token and revocation URLs are written."),
  revocation_auth: z
    .enum(["client", "token"])
    .default("client")
    .describe("`client`: as RFC 7009 has it; `token`: the access token revokes itself, as bearer."),
  revocation_ends: z
    .enum(["grant", "account"])
    .default("account")
    .describe(
      "What revoking a token ends: its own grant alone, or all that the account granted to the client. The latter is done only where no connection uses the client any more.",
    ),
  bearer_types: z.array(z.string().min(1).max(50)).max(10).default([]).describe("Token types of the vendor's own that are sent as bearer."),
  invalid_grant_codes: z
    .array(z.string().min(1).max(100))
    .max(50)
    .default([])
    .describe("Error codes of the vendor's own that say that a code or token is not valid."),
  authorization_parameters: z.record(z.string(), z.string().max(500)).default({}).describe("Added to the authorization URL."),
  origin_from: OriginFrom.optional(),
  authorise: Authorise.default({ in: "bearer" }),
})

const BrokerAuth = z
  .strictObject({ integration: z.string().min(1).max(255).describe("Its name at the broker.") })
  .describe("Access is granted at the operator's connection broker, where the service has no OAuth client.")

const ServiceAccount = z
  .strictObject({
    token_url: SecureUrl.describe("Takes assertions of the account (RFC 7523) and answers with tokens."),
    scopes: z.array(z.string().min(1).max(500)).max(100).default([]).describe("Requested for each connection, beside its own."),
  })
  .describe("The service-account JSON of the vendor, whose key signs for access tokens.")

const Test = z
  .strictObject({
    method: z.enum(["GET", "HEAD", "POST"]).default("GET"),
    path: z
      .string()
      .max(2_048)
      .regex(/^\/(?!\/)[^\s\\?#]*$/, "expected a path that starts with one / and holds no query"),
    query: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).default({}),
    success: z
      .strictObject({
        status: z.array(z.int().min(200).max(299)).min(1).default([200]),
        json: z
          .strictObject({
            field: z.string().min(1).max(200).describe("Dotted path."),
            equals: z.union([z.string(), z.number(), z.boolean()]).optional().describe("Absent: the field must be there."),
          })
          .optional(),
      })
      .default({ status: [200] })
      .describe("What proves that the credentials work."),
  })
  .describe("A call that changes nothing and needs the credentials.")

export type TestCall = z.output<typeof Test>

const RateLimit = z.strictObject({
  requests: z.int().min(1),
  per_seconds: z.number().positive().max(2_678_400).optional().describe("Absent: so many at once."),
  counted: z
    .boolean()
    .default(true)
    .describe("False: for people alone. Of a limit that depends on more than the connection, such as on the method."),
  note: z.string().max(300).default(""),
})

export const AppDocument = z
  .strictObject({
    slug: Slug,
    name: Name,
    summary: z.string().trim().min(1).max(300),
    docs_url: Url,
    base_url: BaseUrl,
    parameters: z
      .record(z.string().regex(parameterName, "expected lower-case letters, digits and _"), z.string().min(1).max(300))
      .default({})
      .describe("Parts of base_url that each connection gives beside its secret, each with what it is."),
    headers: z.record(HeaderName, z.string().max(1_000)).default({}).describe("Sent with every request. Not for secrets."),
    auth: z
      .strictObject({
        api_key: ApiKey.optional(),
        basic: Basic.optional(),
        service_account: ServiceAccount.optional(),
        oauth2: OAuth2.optional(),
        broker: BrokerAuth.optional(),
      })
      .refine(
        (kinds) => Object.values(kinds).some((kind) => kind !== undefined),
        "give at least one of api_key, basic, service_account, oauth2, broker",
      ),
    test: Test,
    rate_limits: z.array(RateLimit).max(10).default([]).describe("As the vendor publishes them; calls through a connection keep them."),
  })
  .superRefine(({ base_url, parameters, auth }, { addIssue }) => {
    if (auth.broker && base_url.includes("{")) {
      addIssue({ code: "custom", path: ["auth", "broker"], message: "a broker gives no parameters; write base_url without them" })
    }
    const hasOrigin = auth.oauth2?.origin_from !== undefined
    if (auth.oauth2 && (hasOrigin ? /^https?:\/\/[^/]*\/.*\{/i : /\{/).test(base_url)) {
      const message = hasOrigin
        ? "an authorization gives no parameters; leave them out of the path"
        : "an authorization gives no parameters; say under origin_from who tells the API's origin"
      addIssue({ code: "custom", path: hasOrigin ? ["base_url"] : ["auth", "oauth2"], message })
    }
    const used = new Set([...base_url.matchAll(placeholder)].map(([, name = ""]) => name))
    for (const name of used) {
      if (Object.hasOwn(parameters, name)) continue
      addIssue({ code: "custom", path: ["base_url"], message: `{${name}} is not a parameter; describe it under parameters.${name}` })
    }
    for (const name of Object.keys(parameters)) {
      if (reserved.has(name)) {
        addIssue({ code: "custom", path: ["parameters", name], message: `"${name}" is a name of credentials; take another` })
      } else if (!used.has(name)) {
        addIssue({ code: "custom", path: ["parameters", name], message: `base_url does not use it; write {${name}} there, or remove it` })
      }
    }
  })

export type AppDocument = z.output<typeof AppDocument>

const reserved: ReadonlySet<string> = new Set(["api_key", "username", "password", "access_token", "refresh_token", "api_origin"])

/** Returns true for a registrable domain or a subdomain, or this machine. */
function isHostSuffix(text: string): boolean {
  if (["localhost", "127.0.0.1"].includes(text)) return true
  return /^[a-z0-9.-]+$/.test(text) && !text.startsWith(".") && getDomain(text, { allowPrivateDomains: true }) !== null
}

/** Returns the text with each placeholder replaced. */
export function filled(text: string, replacement: (name: string) => string): string {
  return text.replace(placeholder, (_, name: string) => replacement(name))
}
