// The one Liquid engine: which tags and filters pipelines may use, and its limits. Left out is what reads files, writes
// the scope, parses text while it renders, or gives another answer each time: the same event must render the same again.
import { type Context, Liquid } from "liquidjs"
import { AppError } from "../../kernel/errors.ts"

const usableTags = ["assign", "break", "capture", "case", "comment", "continue", "for", "if", "raw", "unless", "#"]
const unusableFilters = ["sample", "where_exp", "reject_exp", "group_by_exp", "has_exp", "find_exp", "find_index_exp", "raw", "inspect"]
const dateFilters = ["date", "date_to_xmlschema", "date_to_rfc822", "date_to_string", "date_to_long_string"]

/** Longest text, in UTF-16 units, that one template may render to. */
export const maxTextLength = 1_048_576

const limits = { parseLimit: 262_144, renderLimit: 100, memoryLimit: 5_000_000 }

export const liquid = makeLiquid()

/** Tags a template may hold, those that only continue or end another included. */
export const knownTags: ReadonlySet<string> = new Set([
  ...usableTags,
  ...["elsif", "else", "when", "endif", "endunless", "endcase", "endfor", "endcapture", "endcomment", "endraw"],
])

export const knownFilters: readonly string[] = Object.keys(liquid.filters)

/** A value as text: nothing for null, JSON for lists and objects. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return ""
  return typeof value === "object" ? JSON.stringify(value) : String(value)
}

function makeLiquid(): Liquid {
  const engine = new Liquid({
    ...limits,
    strictFilters: true,
    ownPropertyOnly: true,
    timezoneOffset: 0,
    locale: "en-US",
    templates: {},
    outputEscape: textOf,
  })
  for (const tag of Object.keys(engine.tags)) if (!usableTags.includes(tag)) delete engine.tags[tag]
  for (const filter of unusableFilters) engine.unregisterFilter(filter)
  for (const name of dateFilters) {
    const builtin = engine.filters[name]
    if (typeof builtin !== "function") continue
    engine.registerFilter(name, function (this: { context: Context }, value: unknown, ...args: unknown[]) {
      if (value === "now" || value === "today") {
        throw new AppError("failed_precondition", `"${value}" changes from one try to the next; use envelope.received_at.`)
      }
      return builtin.call(this as never, value, ...args)
    })
  }
  return engine
}
