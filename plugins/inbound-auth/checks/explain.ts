// Explains a wrong signature. A wrong secret and a changed body look the same, so variants are tried. The same signature may fit
// a body rewritten by proxies or frameworks, another reading of the secret, or another URL. The variants change only the
// verdict's message, not its outcome. The sender never receives the message.
import { Refused } from "../request/refusal.ts"
import type { RequestView } from "../request/view.ts"
import type { Encoding } from "./encoding.ts"
import type { Prover } from "./prover.ts"
import { urlVariants } from "./url-forms.ts"

/** Larger bodies are not explained, to bound the work. */
const maxExplainedBytes = 64 * 1_024

interface Evidence {
  /** Returns true if a live secret signed this changed request. */
  readonly fits: (view: RequestView, provers: readonly Prover[]) => boolean
  readonly provers: readonly Prover[]
  /** Other readings of the active secrets, computed on demand. */
  readonly otherReadings: () => readonly { readonly hint: string; readonly prover: Prover }[]
  readonly signsUrl: boolean
  readonly signsBody: boolean
  readonly encoding: Encoding
  readonly digestBytes: number | undefined
}

export function explainMismatch(view: RequestView, candidates: readonly string[], evidence: Evidence): Refused {
  const form = malformedHint(candidates, evidence)
  if (form !== undefined) return new Refused("malformed_signature", form)
  if (view.request.body.length <= maxExplainedBytes) {
    const refusal = bodyEvidence(view, evidence) ?? urlEvidence(view, evidence) ?? secretEvidence(view, evidence)
    if (refusal) return refusal
  }
  const count = evidence.provers.length
  const keys = count === 1 ? "the active secret" : `any of the ${count} active secrets`
  const suspects = [
    "the secret is another",
    ...(evidence.signsBody ? ["the body was changed in transit"] : []),
    ...(evidence.signsUrl ? [`the registered URL is not ${view.request.url.split("?", 1)[0]}`] : []),
  ]
  return new Refused(
    "wrong_secret",
    `The signature does not match ${keys}. Most likely ${suspects.join(", or ")}; the signature does not tell which.`,
  )
}

function malformedHint(candidates: readonly string[], { encoding, digestBytes }: Evidence): string | undefined {
  if (digestBytes === undefined) return undefined
  const shape = { hex: digestBytes * 2, base64: Math.ceil(digestBytes / 3) * 4, base64url: Math.ceil((digestBytes * 8) / 6) }[encoding]
  const alphabet = { hex: /^[0-9a-f]+$/, base64: /^[A-Za-z0-9+/]+={0,2}$/, base64url: /^[\w-]+$/ }[encoding]
  if (candidates.some((candidate) => candidate.length === shape && alphabet.test(candidate))) return undefined
  const lengths = candidates.map((candidate) => `${candidate.length} characters`).join(", ")
  const upper =
    encoding === "hex" && candidates.some((candidate) => /^[0-9A-F]+$/.test(candidate)) ? " Upper-case hexadecimal is not accepted." : ""
  return `The signature should be ${shape} characters of ${encoding === "hex" ? "lower-case hex" : encoding}; seen: ${lengths}.${upper}`
}

function bodyEvidence(view: RequestView, evidence: Evidence): Refused | undefined {
  if (!evidence.signsBody) return undefined
  for (const [variant, text] of bodyVariants(view.text)) {
    if (!evidence.fits(view.with({ body: Buffer.from(text) }), evidence.provers)) continue
    return new Refused(
      "body_modified",
      `The secret is right, but the body was changed after signing: the signature matches it ${variant}. An intermediary rewrites bodies.`,
    )
  }
  return undefined
}

function bodyVariants(text: string): readonly (readonly [how: string, text: string])[] {
  const variants: [string, string][] = [
    ["with surrounding white space removed", text.trim()],
    ["with a line break added", `${text}\n`],
    ["with a CRLF added", `${text}\r\n`],
    ["with LF line breaks", text.replaceAll("\r\n", "\n")],
    ["with CRLF line breaks", text.replaceAll(/\r?\n/g, "\r\n")],
  ]
  try {
    const parsed: unknown = JSON.parse(text)
    const compact = JSON.stringify(parsed)
    const escaped = escapeNonAscii(compact)
    variants.push(["as compact JSON", compact], ["as indented JSON", JSON.stringify(parsed, null, 2)])
    variants.push(["as JSON with non-ASCII characters escaped", escaped], ["as JSON with slashes escaped", escaped.replaceAll("/", "\\/")])
    variants.push(["as JSON with a space after , and :", spacedJson(parsed)])
  } catch {
    // Not JSON: only the variants for any text apply.
  }
  return variants.filter(([, variant]) => variant !== text)
}

function escapeNonAscii(text: string): string {
  return text.replace(/[\u0080-\uffff]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)
}

/** JSON in Python's format. */
function spacedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spacedJson).join(", ")}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${spacedJson(member)}`)
  return `{${members.join(", ")}}`
}

function urlEvidence(view: RequestView, evidence: Evidence): Refused | undefined {
  if (!evidence.signsUrl) return undefined
  for (const url of urlVariants(view.request.url)) {
    if (!evidence.fits(view.with({ url }), evidence.provers)) continue
    return new Refused(
      "url_mismatch",
      `The secret is right, but the provider signed ${url.split("?", 1)[0]} and this service's address is ${view.request.url.split("?", 1)[0]}: set MILLRACE_PUBLIC_URL to what is registered there.`,
    )
  }
  return undefined
}

function secretEvidence(view: RequestView, evidence: Evidence): Refused | undefined {
  for (const { hint, prover } of evidence.otherReadings()) {
    if (!evidence.fits(view, [prover])) continue
    return new Refused(
      "wrong_secret",
      `The signature matches the stored secret ${hint}, not the stored secret itself: store it exactly as the provider shows it.`,
    )
  }
  return undefined
}
