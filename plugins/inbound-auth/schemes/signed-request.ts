// Checks a signature over a request, for every scheme. The order: required headers, claimed signatures, timestamp text, signed
// bytes, age. The signed bytes are tried in each spelling of the URL with each live key.
import type { Proof } from "#core"
import { explainMismatch } from "../checks/explain.ts"
import type { Prover } from "../checks/prover.ts"
import type { Claimed, SignatureReader, SignatureText } from "../checks/signature-text.ts"
import type { SignedText } from "../checks/signed-text.ts"
import { checkAge, type TimestampRule } from "../checks/timestamp.ts"
import { type UrlForm, urlForms } from "../checks/url-forms.ts"
import { describePlaces, firstValueAt } from "../request/places.ts"
import { Refused } from "../request/refusal.ts"
import type { RequestView } from "../request/view.ts"

export interface SignedRequest {
  readonly provers: readonly Prover[]
  readonly otherReadings: () => readonly { readonly hint: string; readonly prover: Prover }[]
  readonly read: SignatureReader
  readonly text: SignatureText
  readonly signed: SignedText
  readonly template: string
  readonly settings: Readonly<Record<string, string | undefined>>
  readonly url?: UrlForm
  readonly timestamp?: TimestampRule
  readonly require?: Readonly<Record<string, string>>
  readonly digestBytes?: number
}

export interface Match {
  readonly secretId?: string
  readonly proof?: Proof
}

/** A scheme prepared for one pipeline. Throws or rejects with Refused. */
export type Matcher = (view: RequestView) => Match | Promise<Match>

/** Throws Refused. The match contains the secret's ID and the places of the credential. */
export function matchSignature(spec: SignedRequest, view: RequestView): Match {
  if (spec.provers.length === 0) throw noSecret()
  if (spec.require) checkRequired(spec.require, view)
  const claimed = spec.read(view)
  const rule = spec.timestamp
  const timestamp = rule !== undefined && spec.template.includes("{timestamp}") ? timestampText(rule, view, claimed) : undefined
  const secretId = findProver(spec, view, claimed, timestamp, spec.provers)
  if (secretId === undefined) throw mismatch(spec, view, claimed, timestamp)
  if (rule !== undefined) checkAge(timestamp ?? timestampText(rule, view, claimed), rule, view.request.receivedAt)
  return { secretId, proof: claimed.proof }
}

export function noSecret(): Refused {
  return new Refused("no_secret", "No usable verification secret is stored for this pipeline yet; give one with rotate-secret.")
}

function checkRequired(required: Readonly<Record<string, string>>, view: RequestView): void {
  for (const [name, expected] of Object.entries(required)) {
    const value = view.header(name)
    if (value === undefined) throw new Refused("missing_header", `Header ${name} is absent; expected "${expected}".`)
    if (value !== expected)
      throw new Refused("malformed_signature", `Header ${name} is "${value.slice(0, 64)}"; only "${expected}" is verified.`)
  }
}

function timestampText(rule: TimestampRule, view: RequestView, claimed: Claimed): string {
  const text =
    claimed.timestamp ??
    firstValueAt(
      view,
      rule.at.filter((place) => place !== "part"),
    )
  if (text !== undefined) return text
  throw new Refused("timestamp_missing", `No timestamp: ${describePlaces(rule.at)} is absent or empty.`)
}

function findProver(
  spec: SignedRequest,
  view: RequestView,
  claimed: Claimed,
  timestamp: string | undefined,
  provers: readonly Prover[],
): string | undefined {
  const spellings = spec.url === undefined ? [view.request.url] : urlForms(view.request.url, spec.url)
  for (const url of spellings) {
    const pieces = spec.signed(view, { timestamp, url, settings: spec.settings })
    for (const prover of provers) {
      if (claimed.candidates.some(prover.over(pieces))) return prover.secretId
    }
  }
  return undefined
}

/** Returns false if a changed request lacks a signed part. */
function fits(
  spec: SignedRequest,
  changed: RequestView,
  claimed: Claimed,
  timestamp: string | undefined,
  provers: readonly Prover[],
): boolean {
  try {
    return findProver(spec, changed, claimed, timestamp, provers) !== undefined
  } catch (error) {
    if (error instanceof Refused) return false
    throw error
  }
}

function mismatch(spec: SignedRequest, view: RequestView, claimed: Claimed, timestamp: string | undefined): Refused {
  return explainMismatch(view, claimed.candidates, {
    fits: (changed, provers) => fits(spec, changed, claimed, timestamp, provers),
    provers: spec.provers,
    otherReadings: spec.otherReadings,
    signsUrl: spec.template.includes("{url}"),
    signsBody: spec.template.includes("{body}"),
    encoding: spec.text.encoding,
    digestBytes: spec.digestBytes,
  })
}
