// The Liquid engine, with the allowed tags and filters and its limits. It excludes tags and filters that read files, write the
// scope, parse text at render time or are not deterministic. The same event must render the same result.
import { Context, Liquid } from "liquidjs"
import { AppError } from "../../kernel/errors.ts"
import type { TemplateScope } from "../graph.ts"
import { chargeTags } from "./charged-tags.ts"
import { keyUnits, meter, weightOf } from "./meter.ts"
import { chargedOperators, searchUnits } from "./operators.ts"

const usableTags = ["assign", "break", "capture", "case", "comment", "continue", "for", "if", "raw", "unless", "#"]
const unusableFilters = ["sample", "where_exp", "reject_exp", "group_by_exp", "has_exp", "find_exp", "find_index_exp", "raw", "inspect"]
/** Filters that search for their first argument in the text of any value. */
const searchFilters = /^(replace|remove|split)/
const dateFilters = ["date", "date_to_xmlschema", "date_to_rfc822", "date_to_string", "date_to_long_string"]

/** Maximum UTF-16 units of a rendered template. */
export const maxTextLength = 1_048_576

/** Limits for renders outside of a step. A step has its own budget. */
const limits = { parseLimit: 262_144, renderLimit: 100, memoryLimit: 5_000_000 }

/** Filters that compare, look up or copy each member. */
const listFilters = /^(sort|where|reject|find|has|uniq|group_by|map|sum|compact|json|join|concat|reverse)/

export const liquid = makeLiquid()

/** Allowed tags, including tags that continue or end another tag. */
export const knownTags: ReadonlySet<string> = new Set([
  ...usableTags,
  ...["elsif", "else", "when", "endif", "endunless", "endcase", "endfor", "endcapture", "endcomment", "endraw"],
])

export const knownFilters: readonly string[] = Object.keys(liquid.filters)

/** Returns a value as text: "" for null, JSON for lists and objects. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return ""
  if (typeof value !== "object") return String(value)
  meter.spend(weightOf(value, 4 * meter.left) / 4)
  return JSON.stringify(value)
}

type Limiter = Context["memoryLimit"]

/** Liquid's limiter for allocations (members of lists and ranges, characters). Charges the meter. */
class AllocationLimiter {
  readonly limit = limits.memoryLimit

  use(count: number): void {
    if (Number(count) > 0) meter.spend(Number(count))
  }

  check(): void {}
}

/** Liquid calls this before each tag and each output within tags. */
class RenderLimiter {
  use(): void {}

  check(): void {
    meter.spend(20)
  }
}

const metered = { memoryLimit: new AllocationLimiter() as unknown as Limiter, renderLimit: new RenderLimiter() as unknown as Limiter }

/** Charges for a list as a key, and for the size of an object. */
class ChargedContext extends Context {
  override readProperty(...[holder, key]: Parameters<Context["readProperty"]>): unknown {
    if (typeof key === "object") meter.spend(weightOf(key))
    if (key === "size" && typeof holder === "object" && holder !== null && !Array.isArray(holder))
      meter.spend(keyUnits * Object.keys(holder).length)
    return super.readProperty(holder, key)
  }
}

/** Returns a context. Within a step it charges the meter. Outside of a step it uses Liquid's own limits. */
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

/** Charges for the value and the arguments before the filter runs. A search costs text times pattern. */
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
