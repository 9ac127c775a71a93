// A shared secret, sent unchanged in a header or a body field. It authenticates the sender but not the body.
import type { Proof } from "#core"
import { decodeStrictly } from "../checks/encoding.ts"
import { SecretText } from "../checks/secret-header.ts"
import { Refused } from "../request/refusal.ts"
import type { RequestView } from "../request/view.ts"
import type { SchemeContext, TokenScheme } from "./scheme.ts"
import { type Matcher, noSecret } from "./signed-request.ts"

interface NamedSecret {
  readonly id: string
  readonly text: SecretText
}

function namedSecrets(context: Pick<SchemeContext, "secrets">): NamedSecret[] {
  return context.secrets.map(({ id, value }) => ({ id, text: new SecretText(value) }))
}

/** Returns the ID of the equal secret. Compares every secret, so timing reveals no information. */
function secretEqualTo(secrets: readonly NamedSecret[], token: string): string | undefined {
  let match: string | undefined
  for (const { id, text } of secrets) if (text.equals(token)) match ??= id
  return match
}

export function prepareToken(scheme: TokenScheme, context: SchemeContext): Matcher {
  const secrets = namedSecrets(context)
  const place = scheme.renameable && context.config.header !== undefined ? `header:${context.config.header.toLowerCase()}` : scheme.at
  const name = place.slice(place.indexOf(":") + 1)
  const readTokens =
    scheme.kind === "token_body"
      ? (view: RequestView) => bodyTokens(view, name)
      : (view: RequestView) => headerTokens(view, name, scheme.word)
  return (view) => {
    if (secrets.length === 0) throw noSecret()
    const { tokens, proof } = readTokens(view)
    const matches = tokens.map((token) => secretEqualTo(secrets, token))
    const [secretId] = matches
    if (secretId === undefined || matches.includes(undefined)) throw wrongToken(tokens, name)
    return { secretId, proof }
  }
}

interface Tokens {
  readonly tokens: readonly string[]
  readonly proof: Proof
}

function headerTokens(view: RequestView, name: string, word: "Bearer" | undefined): Tokens {
  const value = view.header(name)
  if (value === undefined || value === "")
    throw new Refused("missing_header", `Header ${name} is absent or empty; it must hold the secret.`)
  const token = word !== undefined && name === "authorization" ? value.replace(/^bearer +/i, "") : value
  return { tokens: [token], proof: { headers: [name] } }
}

/** Every element of a batch must have the token, because a forged element could come with genuine ones. */
function bodyTokens(view: RequestView, path: string): Tokens {
  const values = view.body(path)
  const [holder = "", field = ""] = path.split("[].", 2)
  const elements = field === "" ? 1 : elementsAt(view.document, holder)
  if (values.length === 0 || values.length !== elements) {
    throw new Refused(
      "missing_field",
      `The body's ${path} must hold the secret${elements > 1 ? " in every element" : ""}; found ${values.length} of ${elements}.`,
    )
  }
  return { tokens: values, proof: { body: field === "" ? [path] : values.map((_, index) => `${holder}.${index}.${field}`) } }
}

function elementsAt(document: unknown, name: string): number {
  const list = typeof document === "object" && document !== null ? (document as Record<string, unknown>)[name] : undefined
  return Array.isArray(list) ? list.length : 0
}

function wrongToken(tokens: readonly string[], name: string): Refused {
  const spaced = tokens.some((token) => token !== token.trim()) ? " It has surrounding white space." : ""
  return new Refused("wrong_secret", `${name} does not hold the secret of this pipeline.${spaced}`)
}

// HTTP Basic credentials (RFC 7617), usually in the webhook's URL. The secret is `user:password`.

export function prepareBasicAuth(context: SchemeContext): Matcher {
  const secrets = namedSecrets(context)
  return (view) => {
    if (secrets.length === 0) throw noSecret()
    const header = view.header("authorization")
    if (header === undefined || header === "") {
      throw new Refused("missing_header", "Header authorization is absent: put user and password into the webhook's URL at the provider.")
    }
    const credentials = /^basic +([^ ]+)$/i.exec(header)?.[1]
    const password = credentials === undefined ? undefined : decodeStrictly(credentials, "base64")
    if (password === undefined)
      throw new Refused("malformed_signature", 'Header authorization is not "Basic " and base64 of user:password.')
    const secretId = secretEqualTo(secrets, password.toString("utf8"))
    if (secretId === undefined) throw new Refused("wrong_secret", "User or password do not match this pipeline's.")
    return { secretId, proof: { headers: ["authorization"] } }
  }
}

// Providers without signatures. The endpoint's unguessable address is the only protection. The setting
// `auth_config.query_parameter` adds the pipeline's secret to the URL.

export function prepareOpen(context: SchemeContext): Matcher {
  const name = context.config.query_parameter
  if (name === undefined) return () => ({})
  const secrets = namedSecrets(context)
  return (view) => {
    if (secrets.length === 0) throw noSecret()
    const token = view.query(name)
    if (token === undefined || token === "")
      throw new Refused("missing_token", `Query parameter ${name} is absent from the URL; it must hold the secret.`)
    // In a URL, a `+` without percent-encoding means a space.
    const secretId = secretEqualTo(secrets, token) ?? secretEqualTo(secrets, token.replaceAll(" ", "+"))
    if (secretId === undefined) throw new Refused("wrong_secret", `Query parameter ${name} does not hold the secret of this pipeline.`)
    return { secretId, proof: { query: [name] } }
  }
}
