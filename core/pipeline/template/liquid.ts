// The one Liquid engine: which tags and filters pipelines may use, and its limits. Left out is what reads files, writes
// the scope, parses text while it renders, or gives another answer each time: the same event must render the same again.
import { Context, Liquid } from "liquidjs"
import { AppError } from "../../kernel/errors.ts"
import type { TemplateScope } from "../graph.ts"
import { chargeTags } from "./charged-tags.ts"
import { keyUnits, meter, weightOf } from "./meter.ts"
import { chargedOperators, searchUnits } from "./operators.ts"

const usableTags = ["assign", "break", "capture", "case", "comment", "continue", "for", "if", "raw", "unless", "#"]
const unusableFilters = ["sample", "where_exp", "reject_exp", "group_by_exp", "has_exp", "find_exp", "find_index_exp", "raw", "inspect"]
/** Filters that look for their first argument in the text of any value. */
const searchFilters = /^(replace|remove|split)/
const dateFilters = ["date", "date_to_xmlschema", "date_to_rfc822", "date_to_string", "date_to_long_string"]

/** Longest text, in UTF-16 units, that one template may render to. */
export const maxTextLength = 1_048_576

/** What is rendered outside of a step, which has a budget of its own, ends at these. */
const limits = { parseLimit: 262_144, renderLimit: 100, memoryLimit: 5_000_000 }

/** Filters that compare, look up or copy each member. */
const listFilters = /^(sort|where|reject|find|has|uniq|group_by|map|sum|compact|json|join|concat|reverse)/

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
  if (typeof value !== "object") return String(value)
  meter.spend(weightOf(value, 4 * meter.left) / 4)
  return JSON.stringify(value)
}

type Limiter = Context["memoryLimit"]

/** Liquid's name for what it allocates (members of lists and ranges, characters); charged to the meter. */
class AllocationLimiter {
  readonly limit = limits.memoryLimit

  use(count: number): void {
    if (Number(count) > 0) meter.spend(Number(count))
  }

  check(): void {}
}

/** Asked by Liquid before each tag and each output within tags. */
class RenderLimiter {
  use(): void {}

  check(): void {
    meter.spend(20)
  }
}

const metered = { memoryLimit: new AllocationLimiter() as unknown as Limiter, renderLimit: new RenderLimiter() as unknown as Limiter }

/** Charges for a key that is a list, and for counting the members of an object. */
class ChargedContext extends Context {
  override readProperty(...[holder, key]: Parameters<Context["readProperty"]>): unknown {
    if (typeof key === "object") meter.spend(weightOf(key))
    if (key === "size" && typeof holder === "object" && holder !== null && !Array.isArray(holder))
      meter.spend(keyUnits * Object.keys(holder).length)
    return super.readProperty(holder, key)
  }
}

/** A context that charges to the meter within a step, and keeps to Liquid's own limits outside of one. */
export function contextOf(scope: TemplateScope): Context {
  const within = meter.left === Number.POSITIVE_INFINITY ? {} : metered
  return new ChargedContext(scope, liquid.options, { sync: true }, { liquid, ...within })
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
    operators: chargedOperators,
  })
  chargeTags(engine)
  for (const tag of Object.keys(engine.tags)) if (!usableTags.includes(tag)) delete engine.tags[tag]
  for (const filter of unusableFilters) engine.unregisterFilter(filter)
  for (const [name, builtin] of Object.entries(engine.filters)) {
    if (typeof builtin === "function") engine.registerFilter(name, charged(name, builtin as FilterFunction))
  }
  for (const name of dateFilters) {
    const builtin = engine.filters[name]
    if (typeof builtin !== "function") continue
    engine.registerFilter(name, function (this: { context: Context }, value: unknown, ...args: unknown[]) {
      if (value === "now" || value === "today") {
        throw new AppError("failed_precondition", `"${value}" changes between attempts; use envelope.received_at.`, {
          reason: "template_failed",
        })
      }
      return (builtin as FilterFunction).call(this, value, ...args)
    })
  }
  return engine
}

type FilterFunction = (this: { context: Context }, value: unknown, ...args: unknown[]) => unknown

/** Charges for the value and the arguments before the filter sees them; a search costs text times pattern. */
function charged(name: string, builtin: FilterFunction): FilterFunction {
  const factor = listFilters.test(name) ? 4 : 1
  const searches = searchFilters.test(name)
  return function (this: { context: Context }, value: unknown, ...args: unknown[]) {
    let units = weightOf(value) * factor
    for (const arg of args) {
      units += weightOf(arg)
      if (!searches && typeof value === "string" && typeof arg === "string") units += searchUnits(value, arg)
    }
    if (searches) units += searchUnits(value, args[0])
    meter.spend(units)
    return builtin.call(this, value, ...args)
  }
}
