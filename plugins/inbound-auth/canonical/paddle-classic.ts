// Paddle Classic signs its form fields, less the signature, sorted by name and written by PHP's serialize: an array of
// strings, each with its length in bytes.
import type { Pieces } from "../checks/signed-text.ts"
import { Refused } from "../request/refusal.ts"
import type { RequestView } from "../request/view.ts"

export function paddleClassicText(view: RequestView): Pieces {
  const fields = new Map(view.form ?? [])
  if (fields.size !== (view.form?.length ?? 0))
    throw new Refused("duplicate_parameter", "A form field is repeated; the signature covers each field once.")
  fields.delete("p_signature")
  const members = [...fields].sort(([left], [right]) => Buffer.compare(Buffer.from(left), Buffer.from(right)))
  return [`a:${members.length}:{${members.map(([name, value]) => serialize(name) + serialize(value)).join("")}}`]
}

function serialize(text: string): string {
  return `s:${Buffer.byteLength(text)}:"${text}";`
}
