// Puts a proof where the table says it stands.
import type { SignedParts } from "#core/engine"
import { onlySender } from "./only-sender.ts"

/** At the first of the places; a numbered header is its first. */
export function placeProof([place = ""]: readonly string[], value: string): SignedParts {
  const colon = place.indexOf(":")
  const name = place.slice(colon + 1).replace(/-\*$/, "-1")
  if (place.startsWith("header:")) return { headers: { [name]: value } }
  if (place.startsWith("query:")) return { query: { [name]: value } }
  throw onlySender(`its proof is in the body (${name}), which is sent unchanged`)
}
