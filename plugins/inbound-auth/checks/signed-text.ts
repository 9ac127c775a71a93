// Builds a provider's signed bytes from the template in its table row: `{timestamp}.{body}`, `{method}{url}{body}`, ... Each
// pipeline compiles its template once. Pieces are not joined, so a large body is not copied.
import { Refused } from "../request/refusal.ts"
import type { RequestView } from "../request/view.ts"

export type Pieces = readonly (string | Buffer)[]

export interface SigningContext {
  /** Text of the timestamp as sent. Undefined if the scheme has no timestamp. */
  readonly timestamp: string | undefined
  /** One spelling of the public URL. */
  readonly url: string
  /** Extra settings of the pipeline, such as `app_key`. */
  readonly settings: Readonly<Record<string, string | undefined>>
}

type Piece = (view: RequestView, context: SigningContext) => string | Buffer

export type SignedText = (view: RequestView, context: SigningContext) => Pieces

export function compileSignedText(template: string): SignedText {
  const pieces = template
    .split(/(\{[a-z_]+(?::[^}]+)?\})/)
    .filter((part) => part !== "")
    .map(compilePiece)
  return (view, context) => pieces.map((piece) => piece(view, context))
}

function compilePiece(part: string): Piece {
  const token = /^\{([a-z_]+)(?::([^}]+))?\}$/.exec(part)
  if (!token) return () => part
  const [, kind, name = ""] = token
  const lower = name.toLowerCase()
  switch (kind) {
    case "body":
      return (view) => view.request.body
    case "timestamp":
      return (_view, context) => context.timestamp ?? ""
    case "method":
      return (view) => view.request.method.toUpperCase()
    case "url":
      return (_view, context) => context.url
    case "sorted_form":
      return sortedForm
    case "header":
      return (view) => view.header(lower) ?? absent("missing_header", `header ${lower}`)
    case "json":
      return (view) => firstScalar(view, name.split("|"))
    case "setting":
      return (_view, context) => context.settings[name] ?? absent("missing_setting", `auth_config.${name}`)
    default:
      throw new Error(`Unknown token ${part} in the template of a signed text.`)
  }
}

function absent(word: string, part: string): never {
  throw new Refused(word, `The signature covers ${part}, which is absent.`)
}

function firstScalar(view: RequestView, paths: readonly string[]): string {
  for (const path of paths) {
    const values = view.body(path)
    if (values.length === 1 && values[0] !== undefined) return values[0]
  }
  return absent("missing_field", `the body's ${paths.join(" or ")}`)
}

/** Joins form fields in byte order of their names, each as name and value. A repeated name has its values sorted and deduplicated. */
function sortedForm(view: RequestView): string {
  // With bodySHA256 in the URL, the hash covers the form instead of the list of fields.
  if (bodyHashInUrl(view.request.url) !== undefined) return ""
  const fields = new Map<string, Set<string>>()
  for (const [name, value] of view.form ?? []) {
    const values = fields.get(name) ?? new Set()
    fields.set(name, values.add(value))
  }
  return [...fields]
    .sort(([left], [right]) => byteOrder(left, right))
    .map(([name, values]) =>
      [...values]
        .sort(byteOrder)
        .map((value) => name + value)
        .join(""),
    )
    .join("")
}

function byteOrder(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right))
}

/** Returns Twilio's `bodySHA256` query parameter from the signed URL. */
export function bodyHashInUrl(url: string): string | undefined {
  const start = url.indexOf("?")
  if (start < 0 || !url.includes("bodySHA256")) return undefined
  return new URLSearchParams(url.slice(start + 1)).get("bodySHA256") ?? undefined
}
