// Counts what rendering costs. Templates are rendered on the main thread, between two turns of the event loop, so each
// output, filter and range charges units before it works (about 50 ns each), and rendering stops where they run out.
// Rendering is synchronous, so one meter serves all; what happens after it stopped is decided by run/render.ts.
import { AppError } from "../../kernel/errors.ts"

/** Units in one turn of the event loop: about a millisecond. */
export const turnUnits = 20_000

/** Characters that the templates of one step may render to, over all elements of a `for_each`. */
const maxStepOutput = 4_194_304

class Meter {
  /** Units left. Unlimited outside of a step: Liquid's own limits hold then. */
  left = Number.POSITIVE_INFINITY
  /** Characters that the step has rendered. */
  output = 0
  /** Whether rendering stopped because the units ran out. */
  exceeded = false
  /** Results by evaluator, for rendering that is continued in a later turn. */
  results: Map<object, unknown> | undefined
  /** The evaluator at work, when results are kept. */
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

  /** Counts the text that a template rendered to. */
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

/** Units of listing one key of an object. */
export const keyUnits = 8

/** Units that reading all of a value takes; stops counting once it is more than is left. */
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
