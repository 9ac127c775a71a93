// Meters the cost of rendering. Templates render on the main thread, within a turn of the event loop. Each output, filter and
// range charges units before its work, at about 50 ns per unit. Rendering stops when the units run out. Rendering is synchronous,
// so all renders share a meter. renderer.ts handles a stopped render.
import { AppError } from "../../kernel/errors.ts"

/** Units in a turn of the event loop, about a millisecond. */
export const turnUnits = 20_000

/** Maximum rendered characters of a step's templates, over all elements of a `for_each`. */
const maxStepOutput = 4_194_304

class Meter {
  /** Remaining units. Unlimited outside of a step, because Liquid's own limits apply there. */
  left = Number.POSITIVE_INFINITY
  /** Rendered characters of the step. */
  output = 0
  /** True if rendering stopped because the units ran out. */
  exceeded = false
  /** Results by evaluator, for renders that continue in a later turn. */
  results: Map<object, unknown> | undefined
  /** The active evaluator, if results are stored. */
  current: object | undefined

  begin(units: number, output: number, results?: Map<object, unknown>): void {
    this.left = units
    this.output = output
    this.exceeded = false
    this.results = results
    this.current = undefined
  }

  end(): void {
    this.left = Number.POSITIVE_INFINITY
    this.results = undefined
  }

  /** Counts the rendered text of a template. */
  rendered<T>(result: T): T {
    if (typeof result !== "string" || this.left === Number.POSITIVE_INFINITY) return result
    this.output += result.length
    if (this.output <= maxStepOutput) return result
    const message = `The templates of this step rendered to more than ${maxStepOutput} characters.`
    throw new AppError("failed_precondition", message, { reason: "template_failed", retryable: false })
  }

  spend(units: number): void {
    this.left -= units
    if (this.left >= 0) return
    this.exceeded = true
    throw new AppError("failed_precondition", "The template exceeds its budget of operations.", {
      reason: "template_failed",
      retryable: false,
    })
  }
}

export const meter = new Meter()

const memberUnits = 16

/** Units per listed key of an object. */
export const keyUnits = 8

/** Returns the units of a complete read of a value. Stops counting above the remaining units. */
export function weightOf(value: unknown, most = meter.left): number {
  if (typeof value === "string") return 4 + value.length / 2
  if (typeof value !== "object" || value === null) return 4
  let weight = memberUnits
  const members = Array.isArray(value) ? (value as unknown[]) : Object.values(value)
  for (const member of members) {
    weight += memberUnits
    if (typeof member === "string") weight += member.length / 2
    else if (typeof member === "object" && member !== null) weight += weightOf(member, most - weight)
    if (weight > most) break
  }
  return weight
}
