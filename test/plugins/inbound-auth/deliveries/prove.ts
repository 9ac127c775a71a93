// Proofs of providers' deliveries, made by each vendor's method. Covers proofs that the service itself cannot make.
import { createHash, createHmac, createSign, generateKeyPairSync, type KeyObject, sign } from "node:crypto"
import { crc32 } from "node:zlib"
import { CompactSign, exportJWK, FlattenedSign } from "jose"
import { findProvider } from "../../../../plugins/inbound-auth/providers/table.ts"
import { signAsProvider, testSecretOf } from "../../../../plugins/inbound-auth/signing/sign-as-provider.ts"
import { selfSigned } from "../certificate.ts"
import { inbound } from "../requests.ts"
import type { Delivered } from "./delivery.ts"

/** A request in the vendor's form. */
export interface Proven {
  readonly method: "GET" | "POST"
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const rsa = generateKeyPairSync("rsa", { modulusLength: 2_048 })
const p256 = generateKeyPairSync("ec", { namedCurve: "P-256" })
const edwards = generateKeyPairSync("ed25519")
const year = 31_536_000_000
const { pem, key: certificateKey } = selfSigned(new Date(Date.now() - year), new Date(Date.now() + year))
/** Answer of PayPal's and Amazon's key addresses. */
export const certificate = pem

const der = (key: KeyObject) => key.export({ type: "spki", format: "der" })
const rawEdwards = der(edwards.publicKey).subarray(-32)
const text = "a-secret-of-the-provider-0123456789"

/** The pipeline's secret; undefined if it has none. */
export async function secretOf({ provider, config = {} }: Delivered): Promise<string | undefined> {
  const row = findProvider(provider)
  if (!row) throw new Error(`no row ${provider}`)
  const { scheme } = row
  if (scheme.kind === "none") return config["query_parameter"] === undefined ? undefined : text
  if (row.secret === "none") return undefined
  switch (provider) {
    case "plaid":
      return JSON.stringify({ ...(await exportJWK(p256.publicKey)), alg: "ES256", use: "sig", kid: "k1" })
    case "sendgrid":
      return der(p256.publicKey).toString("base64")
    case "telnyx":
      return rawEdwards.toString("base64")
    case "paddle_classic":
    case "wise":
      return rsa.publicKey.export({ type: "spki", format: "pem" }).toString().trim()
    case "paypal":
      return "1JE4291016473214C"
  }
  if (scheme.kind === "ed25519") return rawEdwards.toString("hex")
  return ["hmac", "hmac_timestamped", "basic_auth", "standard_webhooks"].includes(scheme.kind) ? testSecretOf(row) : text
}

/** Fields of `auth_config` that the delivery omits. */
export async function keyConfigOf({ provider }: Delivered): Promise<Record<string, unknown>> {
  if (provider !== "constant_contact") return {}
  return { public_key: JSON.stringify({ keys: [{ ...(await exportJWK(rsa.publicKey)), alg: "RS256", kid: "k1" }] }) }
}

/** The request with its proof. */
export async function proven(delivery: Delivered, inboundUrl: string, secret: string, at: number): Promise<Proven> {
  const { provider, config = {} } = delivery
  const row = findProvider(provider)
  if (!row) throw new Error(`no row ${provider}`)
  const filled = (value: string) => fill(delivery, value, { secret, at })
  const { body, type } = bodyOf(delivery, filled)
  const query = new URLSearchParams(delivery.get)
  const url = delivery.get ? `${inboundUrl}?${query}` : inboundUrl
  const headers = { ...(type === "" ? {} : { "content-type": type }), ...delivery.headers }
  const request = { method: delivery.get ? ("GET" as const) : ("POST" as const), url, headers, body }
  const more = await ownProof(provider, request, secret, at)
  if (more) return { ...request, ...more, headers: { ...headers, ...more.headers } }
  if (/\$(?:secret|signature)/.test(JSON.stringify(delivery))) return request
  const signed = signAsProvider({ row, config: config as object, secret, request: inbound({ ...request, receivedAt: at }) })
  const withQuery = Object.entries(signed.query ?? {}).reduce((sum, [name, value]) => `${sum}?${name}=${encodeURIComponent(value)}`, url)
  return { ...request, url: withQuery, headers: { ...headers, ...signed.headers } }
}

function bodyOf(delivery: Delivered, filled: (value: string) => string): { body: string; type: string } {
  if (delivery.get || delivery.empty) return { body: "", type: "" }
  if (delivery.json !== undefined) return { body: filled(JSON.stringify(delivery.json)), type: delivery.type ?? "application/json" }
  if (delivery.xml !== undefined) return { body: delivery.xml, type: delivery.type ?? "text/xml" }
  if (delivery.form) {
    const fields = Object.entries(delivery.form).map(([name, value]): [string, string] => [name, filled(value)])
    return { body: new URLSearchParams(fields).toString(), type: "application/x-www-form-urlencoded" }
  }
  const parts = Object.entries(delivery.multipart ?? {}).map(
    ([name, value]) => `--X\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${filled(value)}\r\n`,
  )
  return { body: `${parts.join("")}--X--\r\n`, type: "multipart/form-data; boundary=X" }
}

const hmac = (hash: string, key: string | Buffer, signed: string, encoding: "hex" | "base64") =>
  createHmac(hash, key).update(signed).digest(encoding)

/** Returns the signature in the body. For other providers, returns an unused text. */
function signatureOf({ provider }: Delivered, secret: string, at: number): string {
  switch (provider) {
    case "adyen": {
      const signed = "7914073381342284::TestMerchant:Order 1:1130:EUR:AUTHORISATION:true"
      return hmac("sha256", Buffer.from(secret, "hex"), signed, "base64")
    }
    case "mailgun":
      return hmac("sha256", secret, `${Math.floor(at / 1_000)}a8ce0edb2dd8301dee6c2405235584e45aa91d1e9f979f3de0`, "hex")
    case "dropbox_sign":
      return hmac("sha256", secret, "1762530000signature_request_sent", "hex")
    case "paddle_classic": {
      const fields = { alert_id: "1234", alert_name: "subscription_created", email: "zoe@example.test", subscription_id: "9" }
      const members = Object.entries(fields).map(([name, value]) => `s:${name.length}:"${name}";s:${value.length}:"${value}";`)
      return createSign("sha1")
        .update(`a:4:{${members.join("")}}`)
        .sign(rsa.privateKey, "base64")
    }
    case "aws_sns": {
      const time = new Date(at).toISOString()
      const fields = ["Message\nHello world!", "MessageId\n22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324", "Subject\nMy First Message"]
      const topic = "TopicArn\narn:aws:sns:eu-central-1:123456789012:orders"
      const signed = [...fields, `Timestamp\n${time}`, topic, "Type\nNotification"].map((line) => `${line}\n`).join("")
      return sign("sha256", Buffer.from(signed), certificateKey).toString("base64")
    }
    default:
      return "\u0000"
  }
}

function fill(delivery: Delivered, value: string, { secret, at }: { secret: string; at: number }): string {
  return value
    .replaceAll("$secret", () => secret)
    .replaceAll("$signature", () => signatureOf(delivery, secret, at))
    .replaceAll('"$milliseconds"', String(at))
    .replaceAll("$seconds", String(Math.floor(at / 1_000)))
    .replaceAll("$now", new Date(at).toISOString())
}

type Request = Pick<Proven, "method" | "url" | "headers" | "body">
type Part = { readonly headers: Readonly<Record<string, string>>; readonly url?: string }

/** Proofs by private keys, tokens and canonical forms. */
async function ownProof(provider: string, { method, url, headers, body }: Request, secret: string, at: number): Promise<Part | undefined> {
  const seconds = String(Math.floor(at / 1_000))
  const digest = createHash("sha256").update(body).digest("hex")
  const token = (claims: object) =>
    new CompactSign(Buffer.from(JSON.stringify(claims))).setProtectedHeader({ alg: "HS256" }).sign(Buffer.from(secret))
  const times = { iat: Number(seconds), exp: Number(seconds) + 300 }
  switch (provider) {
    case "contentful": {
      const names = "x-contentful-signed-headers,x-contentful-timestamp,x-contentful-topic"
      const signedText = `x-contentful-signed-headers:${names};x-contentful-timestamp:${at};x-contentful-topic:${headers["x-contentful-topic"]}`
      const signature = hmac("sha256", secret, `POST\n${new URL(url).pathname}\n${signedText}\n${body}`, "hex")
      return {
        headers: { "x-contentful-signed-headers": names, "x-contentful-timestamp": String(at), "x-contentful-signature": signature },
      }
    }
    case "plivo": {
      const [base = "", search = ""] = url.split("?", 2)
      const query = [...new URLSearchParams(search)]
        .map(([name, value]) => `${name}=${value}`)
        .sort()
        .join("&")
      const form = [...new URLSearchParams(method === "GET" ? "" : body)]
        .map(([name, value]) => name + value)
        .sort()
        .join("")
      const signature = hmac("sha256", secret, `${base}?${query}${form}.12345`, "base64")
      return { headers: { "x-plivo-signature-v3-nonce": "12345", "x-plivo-signature-v3": signature } }
    }
    case "twilio_json": {
      const signed = `${url}?bodySHA256=${digest}`
      return { url: signed, headers: { "x-twilio-signature": hmac("sha1", secret, signed, "base64") } }
    }
    case "discord_events":
    case "discord_interactions": {
      const signature = sign(null, Buffer.from(seconds + body), edwards.privateKey).toString("hex")
      return { headers: { "x-signature-timestamp": seconds, "x-signature-ed25519": signature } }
    }
    case "telnyx": {
      const signature = sign(null, Buffer.from(`${seconds}|${body}`), edwards.privateKey).toString("base64")
      return { headers: { "telnyx-timestamp": seconds, "telnyx-signature-ed25519": signature } }
    }
    case "sendgrid": {
      const signature = sign("sha256", Buffer.from(seconds + body), p256.privateKey).toString("base64")
      return {
        headers: { "x-twilio-email-event-webhook-timestamp": seconds, "x-twilio-email-event-webhook-signature": signature },
      }
    }
    case "wise":
      return { headers: { "x-signature-sha256": sign("sha256", Buffer.from(body), rsa.privateKey).toString("base64") } }
    case "paypal": {
      const time = new Date(at).toISOString()
      const signed = `t-1|${time}|${secret}|${crc32(body)}`
      return {
        headers: {
          "paypal-transmission-id": "t-1",
          "paypal-transmission-time": time,
          "paypal-auth-algo": "SHA256withRSA",
          "paypal-cert-url": "https://api.paypal.com/v1/notifications/certs/CERT-360caa42",
          "paypal-transmission-sig": sign("sha256", Buffer.from(signed), certificateKey).toString("base64"),
        },
      }
    }
    case "plaid": {
      const claims = Buffer.from(JSON.stringify({ iat: Number(seconds), request_body_sha256: digest }))
      const signed = await new CompactSign(claims).setProtectedHeader({ alg: "ES256", kid: "k1", typ: "JWT" }).sign(p256.privateKey)
      return { headers: { "plaid-verification": signed } }
    }
    case "constant_contact": {
      const jws = await new FlattenedSign(Buffer.from(body)).setProtectedHeader({ alg: "RS256", kid: "k1" }).sign(rsa.privateKey)
      return { headers: { "x-ctct-webhook-sig": `${jws.protected}..${jws.signature}` } }
    }
    case "jira_connect": {
      const qsh = createHash("sha256")
        .update(`${method}&${new URL(url).pathname}&`)
        .digest("hex")
      return { headers: { authorization: `JWT ${await token({ ...times, iss: "client-key", qsh })}` } }
    }
    case "monday":
      return { headers: { authorization: await token({ ...times, aud: url, accountId: 1 }) } }
    case "netlify":
      return { headers: { "x-webhook-signature": await token({ iss: "netlify", sha256: digest }) } }
    case "messagebird": {
      const url_hash = createHash("sha256").update(url).digest("hex")
      const claims = { ...times, nbf: Number(seconds), iss: "MessageBird", url_hash, ...(body === "" ? {} : { payload_hash: digest }) }
      return { headers: { "messagebird-signature-jwt": await token(claims) } }
    }
    case "vonage": {
      const claims = { iat: Number(seconds), jti: "j-1", iss: "Vonage", api_key: "k", ...(body === "" ? {} : { payload_hash: digest }) }
      return { headers: { authorization: `Bearer ${await token(claims)}` } }
    }
    default:
      return undefined
  }
}
