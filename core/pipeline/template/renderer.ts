// Renders templates within a budget. A render within the rest of the turn is synchronous, and a longer render continues in later
// turns. A template above a whole turn runs in a worker thread. No template blocks the event loop for more than about a
// millisecond, and an endless step fails permanently.
import { setImmediate as nextTurn } from "node:timers/promises"
import { AppError } from "../../kernel/errors.ts"
import type { Evaluate, TemplateScope } from "../graph.ts"
import { sourceOf } from "./expression.ts"
import { meter, turnUnits } from "./meter.ts"
import type { Read } from "./reads.ts"
import type { RenderWorker } from "./render-worker.ts"

/** Maximum units of a step's templates over all elements of a `for_each`, about a quarter of a second. */
const maxStepUnits = 5_000_000

/** Remaining units of an execution's turn. Several steps share it. */
export interface Turn {
  templateUnits: number
}

/** The budget of a step, including `when` and `for_each`. */
export class StepBudget {
  readonly organization: string
  readonly turn: Turn
  output = 0
  spent = 0

  constructor(organization: string, turn: Turn) {
    this.organization = organization
    this.turn = turn
  }
}

export class TemplateRenderer {
  readonly #worker: RenderWorker

  constructor(worker: RenderWorker) {
    this.#worker = worker
  }

  /** Returns the value synchronously if it fits into the turn. Throws a permanent AppError if it cannot be rendered. */
  render<T>(evaluate: Evaluate<T>, scope: TemplateScope, budget: StepBudget): T | Promise<T> {
    const began = budget.turn.templateUnits
    try {
      meter.begin(began, budget.output)
      return evaluate(scope)
    } catch (error) {
      if (!meter.exceeded) throw error
    } finally {
      this.#account(budget, began)
    }
    return this.#later(evaluate, scope, budget)
  }

  /** Returns the value if it fits into the turn. Returns undefined if it does not fit or cannot be rendered. */
  renderNow<T>(evaluate: Evaluate<T>, scope: TemplateScope, organization: string, turn: Turn): { readonly value: T } | undefined {
    const budget = new StepBudget(organization, turn)
    const began = turn.templateUnits
    try {
      meter.begin(began, budget.output)
      return { value: evaluate(scope) }
    } catch {
      return undefined
    } finally {
      this.#account(budget, began)
    }
  }

  /** Continues once per turn until the render is complete or the step's budget is spent. */
  async #later<T>(evaluate: Evaluate<T>, scope: TemplateScope, budget: StepBudget): Promise<T> {
    const results = new Map<object, unknown>()
    for (let before = -1; ; ) {
      await nextTurn()
      if (budget.spent >= maxStepUnits) throw exhausted()
      try {
        meter.begin(turnUnits, budget.output, results)
        return evaluate(scope)
      } catch (error) {
        if (!meter.exceeded) throw error
      } finally {
        this.#account(budget, turnUnits)
      }
      const stuck = meter.current
      // The template had a whole turn and did not finish.
      if (stuck && results.size === before) await this.#inWorker(stuck, scope, budget, results)
      before = results.size
    }
  }

  async #inWorker(stuck: object, scope: TemplateScope, budget: StepBudget, results: Map<object, unknown>): Promise<void> {
    const source = sourceOf(stuck)
    if (!source) throw exhausted()
    const read = JSON.stringify(partsOf(scope, source.reads))
    budget.spent += read.length / 8
    const { value, units, output } = await this.#worker.render(budget.organization, {
      source: { kind: source.kind, text: source.text },
      scope: read,
      units: maxStepUnits - budget.spent,
      output: budget.output,
    })
    budget.spent += units
    budget.output = output
    results.set(stuck, value)
  }

  #account(budget: StepBudget, began: number): void {
    budget.spent += began - meter.left
    budget.turn.templateUnits = Math.max(0, meter.left)
    budget.output = meter.output
    meter.end()
  }
}

/** Returns the parts of the scope that the template reads, to the second level. This keeps the copy to the other thread small. */
function partsOf(scope: TemplateScope, reads: readonly Read[]): Record<string, unknown> {
  const parts: Record<string, unknown> = {}
  for (const { root, path } of reads) {
    const holder: unknown = scope[root as keyof TemplateScope]
    const key = path[0]
    const whole = parts[root] === holder || typeof holder !== "object" || holder === null || Array.isArray(holder)
    if (whole || key === undefined || !Object.hasOwn(holder, key)) parts[root] = holder
    else parts[root] = { ...(parts[root] as object | undefined), [key]: (holder as Record<string, unknown>)[key] }
  }
  return parts
}

export function exhausted(): AppError {
  const message =
    "The templates of this step exceed their budget of operations. Compute lists and long texts in the transform, and read the result in the template."
  return new AppError("failed_precondition", message, { reason: "template_budget", retryable: false })
}
