// A plugin for the outside world: a deferred action that records each call and behaves as the test decides.
import { z } from "zod"
import { AppError, defineAction, definePlugin, type Json, templateJson } from "#core"

export interface Act {
  readonly step: string
  readonly item: number
  readonly says: Json
  readonly key: string
  readonly attempt: number
  readonly execution: string
}

export interface OutsideWorld {
  readonly plugin: ReturnType<typeof definePlugin>
  readonly acts: Act[]
  /** Called for each act; may throw, wait or return. */
  answer: (act: Act, signal: AbortSignal) => Promise<Json> | Json
}

export function outsideWorld(): OutsideWorld {
  const acts: Act[] = []
  const act = defineAction({
    type: "world.act",
    summary: "Acts on the world outside.",
    timing: "deferred",
    config: z.strictObject({ says: templateJson() }),
    result: z.json(),
    examples: [{ title: "Act", yaml: "type: world.act\nsays: hello" }],
    async run({ config, context }) {
      const { stepId, itemIndex, idempotencyKey, attempt, executionId, signal } = context
      const item: Act = { step: stepId, item: itemIndex, says: config.says, key: idempotencyKey, attempt, execution: executionId }
      acts.push(item)
      return await world.answer(item, signal)
    },
    preview: ({ says }): Json => ({ says }),
  })
  const plugin = definePlugin({ id: "outside-world", config: z.strictObject({}), register: (registrar) => registrar.actions(act) })
  const world: OutsideWorld = { plugin: plugin as never, acts, answer: () => ({ done: true }) }
  return world
}

/** Fails with a retryable error, unless `retryable` is false. */
export function fails(message: string, retryable = true): never {
  throw new AppError("unavailable", message, { reason: "unavailable", retryable })
}
