// Renders templates within a budget: what fits into the rest of the turn at once, more in later turns, and a single
// template that is more than a whole turn's work in a worker thread. So no template holds up the event loop for longer
// than about a millisecond, and a step whose templates never end fails permanently.
import { setImmediate as nextTurn } from "node:timers/promises"
import { AppError } from "../../kernel/errors.ts"
import type { Evaluate, TemplateScope } from "../graph.ts"
import { sourceOf } from "./expression.ts"
import { meter, turnUnits } from "./meter.ts"
import type { Read } from "./reads.ts"
import type { RenderWorker } from "./render-worker.ts"

/** Units that the templates of one step may take, over all elements of a `for_each`: about a quarter of a second. */
const maxStepUnits = 5_000_000

/** What the turn of an execution has left; several steps share it. */
export interface Turn {
  templateUnits: number
}

/** The budget of one step, `when` and `for_each` included. */
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

  /** The value at once where it fits into the turn. Throws AppError, not retryable, when it cannot be rendered. */
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

  /** The value where it fits into the turn; undefined where it does not, or cannot be rendered. */
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

  /** Goes on where it stopped, once a turn, until all is rendered or the step's budget is spent. */
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
      // It had a turn of its own and did not finish.
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

/** What the template reads, to the second level: little of an event is copied to another thread. */
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
