// Builds an app from its document: the credentials of a connection, and requests with these credentials.
import { z } from "zod"
import { AppError } from "#core"
import { checkHeaders } from "../../../platform/outgoing-http/index.ts"
import { type AnyIntegrationApp, defineIntegrationApp } from "../app.ts"
import { type Base, requestBelow } from "./below-base.ts"
import { type AppDocument, type Authorise, filled } from "./document.ts"
import type { OAuthProvider } from "./oauth-provider.ts"
import { checkServiceAccount, serviceAccountFields, serviceAccountKey, serviceAccountOf } from "./service-account.ts"

/** Host labels only, so a value cannot leave its place in the base URL. */
const Parameter = z
  .string()
  .max(100)
  .regex(/^[A-Za-z0-9](?:[A-Za-z0-9-]|\.(?=[A-Za-z0-9])){0,99}$/, "expected letters, digits, hyphens and single dots")

type Given = Readonly<Record<string, string>>

export function appOf(document: AppDocument): AnyIntegrationApp {
  const { slug, summary, auth } = document
  const { service_account: account } = auth
  const serviceAccount = account && serviceAccountOf(account.token_url, account.scopes)
  return defineIntegrationApp({
    name: slug,
    summary,
    kind: auth.api_key || auth.basic || auth.service_account ? "native" : auth.oauth2 ? "oauth" : "broker",
    document,
    ...(auth.oauth2 ? { oauth: providerOf(auth.oauth2, document) } : {}),
    ...(serviceAccount ? { serviceAccount } : {}),
    credentials: credentialsOf(document),
    async check(values: Given, { http }) {
      const { url, headers } = baseOf(document, values)
      checkHeaders(headers)
      http.check(url)
      const key = serviceAccount && serviceAccountKey(values)
      if (!key) return
      http.check(serviceAccount.provider.token_endpoint)
      await checkServiceAccount(serviceAccount, key)
    },
    test: () => document.test,
    request: (values: Given, request, url) => requestBelow({ ...baseOf(document, values), ...(url ? { url } : {}) }, request),
  })
}

function providerOf(oauth2: NonNullable<AppDocument["auth"]["oauth2"]>, { base_url, headers }: AppDocument): OAuthProvider {
  const { issuer, authorization_url, token_url, revocation_url, client_auth, scopes, scope_separator, authorization_parameters } = oauth2
  const { origin_from: origin, token_body, revocation_auth, revocation_ends, bearer_types, invalid_grant_codes } = oauth2
  return {
    issuer,
    authorization_endpoint: authorization_url,
    token_endpoint: token_url,
    revocation_endpoint: revocation_url,
    client_auth,
    scopes,
    scope_separator,
    parameters: authorization_parameters,
    // An authorization server within the API requires the API's headers, such as a version.
    headers: base_url.startsWith(`${new URL(token_url).origin}/`) ? headers : {},
    token_body,
    revocation_auth,
    revocation_ends,
    bearer_types,
    invalid_grant_codes,
    api_origin: origin && {
      url: origin.url,
      field: origin.field,
      hosts: origin.hosts,
      sent: (token) => sentSecret(origin.authorise, token),
    },
  }
}

/** Returns the schema of native credentials: a secret, or a user name and password, plus the parameters. */
function credentialsOf({ auth, parameters }: AppDocument): z.ZodType<Given> {
  const secret = (text: string) => z.string().trim().min(1).max(8_000).describe(text)
  const shared = Object.fromEntries(Object.entries(parameters).map(([name, text]) => [name, Parameter.describe(text)]))
  const kinds = [
    ...(auth.api_key ? [z.strictObject({ api_key: secret(auth.api_key.label), ...shared })] : []),
    ...(auth.basic ? [z.strictObject({ username: secret(auth.basic.username), password: secret(auth.basic.password), ...shared })] : []),
  ]
  const all = auth.service_account ? [...kinds, z.object({ ...serviceAccountFields, ...shared })] : kinds
  const [first = z.strictObject({}), ...others] = all
  return (others.length > 0 ? z.union([first, ...others]) : first) as z.ZodType<Given>
}

function baseOf(document: AppDocument, values: Given): Base {
  const url = urlOf(document, values)
  const secrets = sentCredentials(document.auth, values)
  return { url, ...secrets, headers: { ...document.headers, ...secrets.headers } }
}

function urlOf({ name, base_url, auth }: AppDocument, values: Given): string {
  const url = filled(base_url, (parameter) => values[parameter] ?? "")
  if (values["access_token"] === undefined || !auth.oauth2?.origin_from) return url
  const { api_origin } = values
  if (api_origin !== undefined) return api_origin + base_url.replace(/^https?:\/\/[^/]*/i, "")
  throw new AppError("failed_precondition", `${name} did not tell where its API is when it was connected; connect it again.`, {
    reason: "integration_unusable",
    retryable: false,
  })
}

function sentCredentials({ api_key: key, oauth2 }: AppDocument["auth"], values: Given): Omit<Base, "url"> {
  const { username, password, access_token, api_key = "" } = values
  if (values["private_key"] !== undefined) return { headers: {} }
  if (access_token !== undefined) return sentSecret(oauth2?.authorise ?? { in: "bearer" }, access_token)
  if (username !== undefined && password !== undefined) return { headers: basicHeader(username, password) }
  return sentSecret(key?.authorise ?? { in: "bearer" }, api_key)
}

/** Returns the headers or query parameters with the secret. */
function sentSecret(authorise: Authorise, secret: string): Omit<Base, "url"> {
  if (authorise.in === "bearer") return { headers: { Authorization: `Bearer ${secret}` } }
  if (authorise.in === "header") return { headers: { [authorise.name]: authorise.prefix + secret } }
  if (authorise.in === "basic") return { headers: basicHeader(authorise.username, secret) }
  return { headers: {}, query: { [authorise.name]: secret } }
}

function basicHeader(username: string, password: string): Record<string, string> {
  return { Authorization: `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}` }
}
