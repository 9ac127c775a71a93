// Metrics of model calls.
import { Counter } from "prom-client"
import type { Metrics } from "#core/engine"
import type { Usage } from "./budget.ts"

export class ModelMeters {
  readonly #calls: Counter<"purpose" | "model" | "result">
  readonly #tokens: Counter<"purpose" | "model" | "direction">
  readonly #cost: Counter<"purpose" | "model">

  constructor(metrics: Metrics) {
    const registers = [metrics]
    this.#calls = new Counter({
      name: "millrace_model_calls_total",
      help: "Calls of models by purpose, model and result: answered, kept from an earlier call, unusable, or the reason of a failure.",
      labelNames: ["purpose", "model", "result"],
      registers,
    })
    this.#tokens = new Counter({
      name: "millrace_model_tokens_total",
      help: "Tokens that models read (input) and wrote (output).",
      labelNames: ["purpose", "model", "direction"],
      registers,
    })
    this.#cost = new Counter({
      name: "millrace_model_cost_millicents_total",
      help: "What calls of models cost, in 1/100,000 of a dollar, by the configured prices.",
      labelNames: ["purpose", "model"],
      registers,
    })
  }

  countReused(purpose: string, model: string): void {
    this.#calls.inc({ purpose, model, result: "kept" })
  }

  failed(purpose: string, model: string, result: string): void {
    this.#calls.inc({ purpose, model, result })
  }

  paid(purpose: string, model: string, { inputTokens, outputTokens }: Usage, cost: number, result: "answered" | "unusable"): void {
    this.#calls.inc({ purpose, model, result })
    this.#tokens.inc({ purpose, model, direction: "input" }, inputTokens)
    this.#tokens.inc({ purpose, model, direction: "output" }, outputTokens)
    this.#cost.inc({ purpose, model }, cost)
  }
}
