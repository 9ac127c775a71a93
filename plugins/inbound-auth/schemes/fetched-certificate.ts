// Signatures with a certificate named by the request: PayPal's transmissions and Amazon SNS messages. The URL is checked against
// the provider's own hosts before the fetch. Otherwise a sender could name its own key.
import { type KeyObject, verify, X509Certificate } from "node:crypto"
import { crc32 } from "node:zlib"
import type { VerificationSecret } from "#core"
import { decodeStrictly } from "../checks/encoding.ts"
import { checkAge } from "../checks/timestamp.ts"
import { FetchedKeys } from "../key-fetcher.ts"
import { Refused } from "../request/refusal.ts"
import type { RequestView } from "../request/view.ts"
import type { FetchedCertificateScheme, SchemeContext } from "./scheme.ts"
import { type Match, type Matcher, noSecret } from "./signed-request.ts"

interface Message {
  readonly certificateUrl: string
  readonly signature: string
  readonly hash: "sha1" | "sha256"
  readonly timestamp: string
  /** The signed text. If a secret is part of the text, there is one text per live secret. */
  readonly texts: readonly { readonly secretId?: string; readonly text: string }[]
  readonly proof: NonNullable<Match["proof"]>
}

export function prepareFetchedCertificate(scheme: FetchedCertificateScheme, context: SchemeContext): Matcher {
  const certificates = new FetchedKeys(context.fetcher, parseCertificate)
  const tolerance_s = context.config.tolerance_s ?? scheme.timestamp.tolerance_s
  const readMessage = scheme.certificate === "paypal" ? paypalMessage : (view: RequestView) => snsMessage(view, context.config.topic_arn)
  return async (view) => {
    const message = readMessage(view, context.secrets)
    const signature = decodeStrictly(message.signature, scheme.encoding)
    if (signature === undefined) throw new Refused("malformed_signature", `The signature is not canonical ${scheme.encoding}.`)
    const key = await certificateKey(certificates, message.certificateUrl, view.request.receivedAt)
    const match = message.texts.find(({ text }) => verify(message.hash, Buffer.from(text), key, signature))
    if (!match) throw mismatch(scheme)
    checkAge(message.timestamp, { unit: scheme.timestamp.unit, tolerance_s }, view.request.receivedAt)
    return { proof: message.proof, ...(match.secretId !== undefined && { secretId: match.secretId }) }
  }
}

function mismatch(scheme: FetchedCertificateScheme): Refused {
  return scheme.certificate === "paypal"
    ? new Refused(
        "wrong_secret",
        "The signature does not match: another webhook id is stored as the secret, or the body was changed in transit; the signature does not tell which.",
      )
    : new Refused("body_modified", "The signature does not match the message under its certificate: a signed field was changed.")
}

async function certificateKey(certificates: FetchedKeys<X509Certificate>, url: string, now: number): Promise<KeyObject> {
  let certificate: X509Certificate
  try {
    certificate = await certificates.get(url, now)
  } catch (error) {
    throw new Refused(
      "key_unavailable",
      `The certificate at ${url} could not be fetched: ${error instanceof Error ? error.message : "unknown reason"}`,
    )
  }
  if (now < certificate.validFromDate.getTime() || now > certificate.validToDate.getTime()) {
    throw new Refused("key_expired", `The certificate at ${url} is valid from ${certificate.validFrom} to ${certificate.validTo} only.`)
  }
  return certificate.publicKey
}

function parseCertificate(text: string): X509Certificate {
  return new X509Certificate(text)
}

const paypalHosts = /^https:\/\/api(?:\.sandbox)?\.paypal\.com\/v1\/notifications\/certs\/[\w-]+$/

function paypalMessage(view: RequestView, secrets: readonly VerificationSecret[]): Message {
  if (secrets.length === 0) throw noSecret()
  const header = (name: string) => {
    const value = view.header(`paypal-${name}`)
    if (!value) throw new Refused("missing_header", `Header paypal-${name} is absent or empty.`)
    return value
  }
  const algorithm = header("auth-algo")
  if (algorithm !== "SHA256withRSA")
    throw new Refused("malformed_signature", `paypal-auth-algo is "${algorithm.slice(0, 40)}"; only SHA256withRSA is supported.`)
  const certificateUrl = header("cert-url")
  if (!paypalHosts.test(certificateUrl)) throw foreignCertificate("paypal-cert-url", certificateUrl)
  const timestamp = header("transmission-time")
  const start = `${header("transmission-id")}|${timestamp}|`
  const checksum = crc32(view.request.body)
  return {
    certificateUrl,
    timestamp,
    signature: header("transmission-sig"),
    hash: "sha256",
    texts: secrets.map(({ id, value }) => ({ secretId: id, text: `${start}${value}|${checksum}` })),
    proof: { headers: ["paypal-transmission-sig"] },
  }
}

const snsHosts = /^https:\/\/sns\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?\/[\w./-]+\.pem$/

const snsFields = {
  Notification: ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"],
  SubscriptionConfirmation: ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"],
  UnsubscribeConfirmation: ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"],
} as const

function snsMessage(view: RequestView, topicArn: string | undefined): Message {
  const field = (name: string) => {
    const [value] = view.body(name)
    if (value === undefined) throw new Refused("missing_field", `The body's ${name} is absent.`)
    return value
  }
  const topic = field("TopicArn")
  if (topic !== topicArn)
    throw new Refused("wrong_audience", `The message is from topic ${topic.slice(0, 300)}, not from the one in auth_config.topic_arn.`)
  const type = field("Type")
  if (!Object.hasOwn(snsFields, type))
    throw new Refused("malformed_signature", `Type "${type.slice(0, 40)}" is not one of ${Object.keys(snsFields).join(", ")}.`)
  const version = field("SignatureVersion")
  if (version !== "1" && version !== "2")
    throw new Refused("malformed_signature", `SignatureVersion "${version.slice(0, 10)}" is neither 1 nor 2.`)
  const certificateUrl = field("SigningCertURL")
  if (!snsHosts.test(certificateUrl) || certificateUrl.includes("..")) throw foreignCertificate("SigningCertURL", certificateUrl)
  const text = snsFields[type as keyof typeof snsFields]
    .flatMap((name) =>
      view
        .body(name)
        .slice(0, 1)
        .map((value) => `${name}\n${value}\n`),
    )
    .join("")
  return {
    certificateUrl,
    timestamp: field("Timestamp"),
    signature: field("Signature"),
    hash: version === "1" ? "sha1" : "sha256",
    texts: [{ text }],
    proof: { body: ["Signature"] },
  }
}

function foreignCertificate(part: string, url: string): Refused {
  return new Refused(
    "foreign_key",
    `${part} names ${url.slice(0, 200)}, which is not an address of the provider's certificates; it was not fetched.`,
  )
}
