// A request during verification: unambiguous headers and query fields, and a body parsed at most once.
import type { InboundRequest } from "#core"
import { type FormFields, formToObject, readForm } from "#core/engine"
import type { DeliveryShape } from "./content.ts"
import { parsePath, scalarsAt } from "./lift.ts"
import { Refused } from "./refusal.ts"

export class RequestView {
  readonly request: InboundRequest
  readonly #delivery: DeliveryShape | undefined
  #document: { readonly value: unknown } | undefined
  #form: { readonly fields: FormFields | undefined } | undefined

  /** `delivery`: the provider's formats besides JSON and plain forms. */
  constructor(request: InboundRequest, delivery?: DeliveryShape) {
    this.request = request
    this.#delivery = delivery
  }

  /** Equal repeated headers count as one. Differing values are refused, because the choice between them would be a guess. */
  header(name: string): string | undefined {
    const value = this.request.headers[name]
    return typeof value === "string" ? value : singleValue(value, "duplicate_header", `Header ${name}`)
  }

  query(name: string): string | undefined {
    const value = Object.hasOwn(this.request.query, name) ? this.request.query[name] : undefined
    return typeof value === "string" ? value : singleValue(value, "duplicate_parameter", `Query parameter ${name}`)
  }

  get text(): string {
    return this.request.body.toString("utf8")
  }

  get contentType(): string {
    const value = this.request.headers["content-type"]
    return (typeof value === "string" ? value : value?.[0]) ?? ""
  }

  /** Form fields as sent, or undefined if the body is not a form. */
  get form(): FormFields | undefined {
    this.#form ??= { fields: readForm(this.contentType, this.request.body)?.fields }
    return this.#form.fields
  }

  /** JSON text in the form field with the event, or undefined without this field. */
  get wrappedText(): string | undefined {
    const field = this.#delivery?.field
    if (field === undefined) return undefined
    const values = (this.form ?? []).filter(([name]) => name === field)
    const [, text = ""] = values[0] ?? []
    return values.length === 1 && isJsonText(text) ? text : undefined
  }

  /** The parsed body: JSON with all digits, or form fields. Undefined for other bodies. */
  get document(): unknown {
    this.#document ??= { value: this.#parse() }
    return this.#document.value
  }

  #parse(): unknown {
    if (this.#delivery?.get && this.request.method === "GET") return this.request.query
    const { wrappedText: text } = this
    if (text !== undefined) return parseLossless(text)
    return this.form ? formToObject(this.form) : parseLossless(this.text)
  }

  /** Returns every scalar at a path of the body as text. */
  body(path: string): string[] {
    return scalarsAt(this.document, parsePath(path))
  }

  /** Returns the same request with another body or URL, for finding changes in transit. */
  with(change: Partial<Pick<InboundRequest, "body" | "url">>): RequestView {
    return new RequestView({ ...this.request, ...change }, this.#delivery)
  }
}

function singleValue(values: readonly string[] | undefined, word: string, subject: string): string | undefined {
  if (values === undefined) return undefined
  const first = values[0]
  if (values.some((value) => value !== first)) {
    throw new Refused(word, `${subject} is repeated ${values.length} times with different values; send it once.`)
  }
  return first
}

// Parses JSON without loss of digits. A number that JavaScript would round or rewrite becomes its original text. IDs of 64 bits
// and signed amounts keep every digit.

/**
 * Matches numbers at the start, or after a structural character or a space. Parsing with a reviver is slow, so it is used only
 * after a match.
 */
const maybeLossy = /(?:^|[:[,\s])(?:-?\d{16}|-?\d+[.eE]|-0)/

/** Returns the parsed text, or undefined for invalid JSON. */
function parseLossless(text: string): unknown {
  try {
    return maybeLossy.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text)
  } catch {
    return undefined
  }
}

function keepDigits(this: unknown, _key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== "number" || context?.source === undefined) return value
  return String(value) === context.source ? value : context.source
}

/** Returns true for a JSON object or list. */
export function isJsonText(text: string): boolean {
  return /^\s*[[{]/.test(text) && parseLossless(text) !== undefined
}
