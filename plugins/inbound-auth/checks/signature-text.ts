// Reads the claimed signatures of a request from a header, a query parameter or a body field. A signature may be alone, after a
// prefix, in a list, or one of several `key=value` parts with the timestamp.
import { z } from "zod"
import type { Proof } from "#core"
import { describePlaces, expandPlaces, proofOf, valueAt } from "../request/places.ts"
import { Refused } from "../request/refusal.ts"
import type { RequestView } from "../request/view.ts"
import { Encoding } from "./encoding.ts"

export const SignatureText = z.strictObject({
  /** All places of signatures, in the syntax of the provider table. */
  at: z.array(z.string()).min(1),
  encoding: Encoding,
  prefix: z.string().exactOptional(),
  /** Splits a value into entries at any of these characters. Entries without the prefix belong to another scheme and are skipped. */
  separator: z
    .string()
    .transform((characters) => (characters.length === 1 ? characters : new RegExp(`[${characters}]`)))
    .exactOptional(),
  /** Entries are `key=value`. These keys contain the signature and the timestamp. */
  keys: z.strictObject({ signature: z.string(), timestamp: z.string().exactOptional() }).exactOptional(),
  /** Texts sent by some senders instead of a signature. They count as a missing signature. */
  placeholders: z.array(z.string()).exactOptional(),
})
export type SignatureText = z.output<typeof SignatureText>

export interface Claimed {
  /** At least one encoded signature, without prefix. */
  readonly candidates: readonly string[]
  readonly timestamp?: string
  readonly proof: Proof
}

export type SignatureReader = (view: RequestView) => Claimed

export function signatureReader(text: SignatureText): SignatureReader {
  const [first] = text.at
  const single = text.at.length === 1 && first !== undefined && !first.endsWith("*") ? first : undefined
  const singleProof = proofOf(text.at)
  return (view) => {
    const places = single === undefined ? expandPlaces(view, text.at) : text.at
    const present: string[] = []
    const values: string[] = []
    for (const place of places) {
      const value = valueAt(view, place)
      if (value === undefined) continue
      present.push(place)
      values.push(value)
    }
    if (values.length === 0) throw missing(text)
    const proof = single === undefined ? proofOf(present) : singleProof
    return text.keys ? readParts(values, text, text.keys, proof) : readEntries(values, text, proof)
  }
}

function missing(text: SignatureText): Refused {
  const placeNames = describePlaces(text.at)
  const word = text.at[0]?.startsWith("header:") ? "missing_header" : "missing_signature"
  return new Refused(word, `No signature: ${placeNames} is absent or empty. Is signing enabled at the sender?`)
}

function malformedSignature(text: SignatureText, problem: string): Refused {
  return new Refused("malformed_signature", `${describePlaces(text.at)}: ${problem}`)
}

function readEntries(values: readonly string[], text: SignatureText, proof: Proof): Claimed {
  const prefix = text.prefix ?? ""
  const candidates: string[] = []
  for (const value of values) {
    if (text.placeholders?.includes(value))
      throw malformedSignature(text, "holds a placeholder instead of a signature: no secret is set at the sender.")
    for (const entry of text.separator === undefined ? [value] : value.split(text.separator)) {
      const trimmed = text.separator === undefined ? entry : entry.trim()
      if (trimmed.startsWith(prefix) && trimmed.length > prefix.length) candidates.push(trimmed.slice(prefix.length))
    }
  }
  if (candidates.length === 0) throw malformedSignature(text, `expected "${prefix}" and a signature in ${text.encoding}.`)
  return { candidates: limitCandidates(candidates, text), proof }
}

function readParts(
  values: readonly string[],
  text: SignatureText,
  keys: { readonly signature: string; readonly timestamp?: string },
  proof: Proof,
): Claimed {
  const candidates: string[] = []
  let timestamp: string | undefined
  for (const part of values.flatMap((value) => value.split(text.separator ?? ","))) {
    const equals = part.indexOf("=")
    const key = part.slice(0, equals).trim()
    const value = part.slice(equals + 1).trim()
    if (equals < 1 || value === "") continue
    if (key === keys.signature) candidates.push(value)
    if (key !== keys.timestamp) continue
    if (timestamp !== undefined && timestamp !== value) throw malformedSignature(text, `has two different timestamps in "${key}".`)
    timestamp = value
  }
  if (candidates.length === 0) throw malformedSignature(text, `has no part "${keys.signature}=<${text.encoding}>".`)
  return { candidates: limitCandidates(candidates, text), proof, ...(timestamp !== undefined && { timestamp }) }
}

const maxCandidates = 100

/** Bounds the number of signatures, because each costs a comparison. */
function limitCandidates(candidates: readonly string[], text: SignatureText): readonly string[] {
  if (candidates.length > maxCandidates)
    throw malformedSignature(text, `holds ${candidates.length} signatures; at most ${maxCandidates} are checked.`)
  return candidates
}
