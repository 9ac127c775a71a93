// Signs a request with a MAC (or the older plain hash) over a template of the request, for tests of pipelines. Counterpart of
// schemes/digest.ts.
import { createHash, createHmac } from "node:crypto"
import { AppError, type InboundRequest } from "#core"
import type { SignedParts } from "#core/engine"
import { keyBytes, keyForm } from "../checks/key.ts"
import type { SignatureText } from "../checks/signature-text.ts"
import { compileSignedText, type Pieces } from "../checks/signed-text.ts"
import type { TimeUnit } from "../checks/timestamp.ts"
import { urlForms } from "../checks/url-forms.ts"
import { Refused } from "../request/refusal.ts"
import { RequestView } from "../request/view.ts"
import type { DigestScheme } from "../schemes/scheme.ts"

export interface SignDigestArgs {
  readonly scheme: DigestScheme
  readonly secret: string
  readonly request: InboundRequest
  readonly settings: Readonly<Record<string, string | undefined>>
}

/** Throws AppError: `unimplemented` for forms outside the template syntax, `invalid_argument` for an invalid key. */
export function signDigest({ scheme, secret, request, settings }: SignDigestArgs): SignedParts {
  if (scheme.canonical !== undefined) throw onlySender(`its canonical form (${scheme.canonical}) can only be checked here`)
  if (scheme.guard === "twilio_json") throw onlySender("its URL must carry the hash of the body")
  const key = keyBytes(secret, scheme.key)
  if (!key) throw new AppError("invalid_argument", `The secret must be ${keyForm[scheme.key]}.`, { reason: "unusable_secret" })
  const headers: Record<string, string> = { ...scheme.require }
  const timestamp = scheme.timestamp && timeText(request.receivedAt, scheme.timestamp.unit)
  const timePlace = scheme.timestamp?.at.find((place) => place.startsWith("header:"))
  if (timestamp !== undefined && timePlace !== undefined) headers[timePlace.slice("header:".length)] = timestamp
  const signedRequest = { ...request, headers: { ...headers, ...request.headers } }
  const view = new RequestView(signedRequest)
  const url = scheme.url === undefined ? request.url : (urlForms(request.url, scheme.url)[0] ?? request.url)
  const sentTimestamp = timePlace === undefined ? timestamp : (view.header(timePlace.slice("header:".length)) ?? timestamp)
  // A plain hash starts with the secret, which is not part of the request.
  const template = scheme.signed.replace(/^\{secret\}/, "")
  const pieces = signedPieces(() => compileSignedText(template)(view, { timestamp: sentTimestamp, url, settings }))
  const mac = scheme.kind === "sha256_concat" ? createHash(scheme.hash) : createHmac(scheme.hash, key)
  if (scheme.kind === "sha256_concat") mac.update(key)
  for (const piece of pieces) mac.update(piece)
  const claimed = formatSignature(scheme.signature, mac.digest(scheme.signature.encoding), sentTimestamp)
  const proof = placeProof(scheme.signature.at, claimed)
  return { ...proof, headers: { ...headers, ...proof.headers } }
}

function formatSignature(text: SignatureText, signature: string, timestamp: string | undefined): string {
  if (!text.keys) return `${text.prefix ?? ""}${signature}`
  const separator = typeof text.separator === "string" ? text.separator : ","
  const time = text.keys.timestamp === undefined || timestamp === undefined ? [] : [`${text.keys.timestamp}=${timestamp}`]
  return [...time, `${text.keys.signature}=${signature}`].join(separator)
}

export function timeText(at: number, unit: TimeUnit): string {
  if (unit === "ms") return String(at)
  return unit === "iso" ? new Date(at).toISOString() : String(Math.floor(at / 1_000))
}

/** A missing signed part is an error of the request's author. */
function signedPieces(make: () => Pieces): Pieces {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    throw new AppError("invalid_argument", `The request cannot be signed: ${error.message}`, { reason: "request_not_signable" })
  }
}

/** Returns the error for requests that only the sender can sign. */
export function onlySender(cause: string): AppError {
  const message = `A request of this sender cannot be signed here: ${cause}. Give captured headers.`
  return new AppError("unimplemented", message, { reason: "cannot_sign" })
}

/** Uses the first place. A numbered header gets the number 1. */
export function placeProof([place = ""]: readonly string[], value: string): SignedParts {
  const colon = place.indexOf(":")
  const name = place.slice(colon + 1).replace(/-\*$/, "-1")
  if (place.startsWith("header:")) return { headers: { [name]: value } }
  if (place.startsWith("query:")) return { query: { [name]: value } }
  throw onlySender(`its proof is in the body (${name}), which is sent unchanged`)
}
