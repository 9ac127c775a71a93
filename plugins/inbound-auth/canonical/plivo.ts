// Plivo's V3 text: the address, its query sorted, then the form's fields sorted, then the nonce. The `?` is there when
// either follows it, the `.` only when both do.
import type { Pieces, SigningContext } from "../checks/signed-text.ts"
import { Refused } from "../request/refusal.ts"
import type { RequestView } from "../request/view.ts"

const nonceHeader = "x-plivo-signature-v3-nonce"

export function plivoText(view: RequestView, context: SigningContext): Pieces {
  const nonce = view.header(nonceHeader)
  if (!nonce) throw new Refused("missing_header", `Header ${nonceHeader} is absent or empty.`)
  if (view.request.body.length > 0 && view.form === undefined) {
    throw new Refused("body_not_covered", `The signature covers form fields only, not a body of type "${view.contentType}".`)
  }
  const [base = "", search = ""] = context.url.split(/\?(.*)/s, 2)
  const query = sortAndJoin([...new URLSearchParams(search)], "=").join("&")
  const form = sortAndJoin(view.form ?? [], "").join("")
  const question = query !== "" || form !== "" ? "?" : ""
  const dot = query !== "" && form !== "" ? "." : ""
  return [`${base}${question}${query}${dot}${form}.${nonce}`]
}

function sortAndJoin(pairs: readonly (readonly [string, string])[], glue: string): string[] {
  return [...pairs].sort(byNameThenValue).map(([name, value]) => `${name}${glue}${value}`)
}

function byNameThenValue(left: readonly [string, string], right: readonly [string, string]): number {
  return compare(left[0], right[0]) || compare(left[1], right[1])
}

function compare(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right))
}
