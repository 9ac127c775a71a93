// Contentful's canonical request: method, path with query, the signed headers as `name:value` sorted and joined with
// `;`, and the body, each on a line of its own. The sender chooses which headers; the timestamp must be among them.
import { escape as escapeQuery } from "node:querystring"
import type { Pieces, SigningContext } from "../checks/signed-text.ts"
import { Refused } from "../request/refusal.ts"
import type { RequestView } from "../request/view.ts"

const listHeader = "x-contentful-signed-headers"
const timestampHeader = "x-contentful-timestamp"

export function contentfulText(view: RequestView, context: SigningContext): Pieces {
  const list = view.header(listHeader)
  if (list === undefined) throw new Refused("missing_header", `Header ${listHeader} is absent; it names the headers that are signed.`)
  const names = list.split(",").map((name) => name.trim().toLowerCase())
  if (!names.includes(timestampHeader)) {
    throw new Refused("timestamp_missing", `${listHeader} does not name ${timestampHeader}, so the signature does not cover the time.`)
  }
  const headers = names
    .map((name) => [name, (view.header(name) ?? "").trim()] as const)
    .sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0))
    .map(([name, value]) => `${name}:${value}`)
    .join(";")
  return [`${view.request.method.toUpperCase()}\n${pathOf(context.url)}\n${headers}\n`, view.request.body]
}

/** The query is escaped as a whole, and the result encoded once more, as Contentful's toolkit does it. */
function pathOf(url: string): string {
  const target = /^https?:\/\/[^/?#]*([^#]*)/i.exec(url)?.[1] ?? url
  const [path = "", search] = target.split("?")
  return encodeURI((search ? `${path}?${escapeQuery(search)}` : path).toWellFormed())
}
