// The service's models, and the organization's spending on them.
import { z } from "zod"
import { Clock, defineOperation, Store, timestamp, token } from "#core"
import { type DayCost, DayCostCollection } from "./collections.ts"
import { HeldCallsCollection, lostEstimates } from "./holds.ts"
import { type ModelSettings, type Purpose, purposes } from "./settings.ts"

export const ModelsConfigured = token<ModelSettings>("models configured")

const Model = z.object({
  purpose: z.enum([...purposes, "embedding"]),
  model: z.string().describe("Its name at the provider; empty where none is configured for the purpose."),
  images: z.boolean().describe("Whether it sees images."),
  setting: z.string().describe("Where it is configured."),
})

const Day = z.object({
  day: z.string().describe("UTC, YYYY-MM-DD."),
  calls: z.int(),
  input_tokens: z.int(),
  output_tokens: z.int(),
  millicents: z
    .number()
    .describe("By the configured prices; 1/100,000 of a dollar. Calls that a killed node took along count as their estimate."),
})

export const listModels = defineOperation({
  name: "models.list",
  summary: "Show which models serve what, and what the organization spent on them in the last 30 days.",
  http: { method: "GET", path: "/v1/models" },
  access: { scope: "models:read", role: "member" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({}),
  output: z.object({
    models: z.array(Model),
    days: z.array(Day).describe("The newest first; days without a call are left out."),
    max_day_millicents: z.number().describe("What the organization's calls may cost in a day."),
  }),
  errors: [],
  inject: { store: Store, settings: ModelsConfigured, clock: Clock },
  async handle({ caller, deps: { store, settings, clock } }) {
    const organization = caller.organization.id
    const days = await daysOf(store, organization, clock.now())
    const models = [...purposes.map((purpose) => languageModel(settings, purpose)), embeddingModel(settings)]
    return {
      models,
      days: days.map(({ day, calls, input_tokens, output_tokens, millicents }) => ({
        day,
        calls,
        input_tokens,
        output_tokens,
        millicents,
      })),
      max_day_millicents: settings.max_day_millicents,
    }
  },
})

const dayMs = 86_400_000
/** Consecutive reads during which calls start and end. */
const maxTries = 20

/** Returns days, newest first. Lost calls count even before a job books them. Reads again if calls changed during the read. */
async function daysOf(store: Store, organization: string, now: number): Promise<DayCost[]> {
  // Older calls have ended and are booked.
  const recent = [now, now - dayMs].map((at) => timestamp(at).slice(0, 10))
  const read = () => Promise.all(recent.map((day) => store.open(HeldCallsCollection, organization).get(`${organization}:${day}`)))
  for (let tries = 1; ; tries++) {
    const calls = await read()
    const days = await store.open(DayCostCollection, organization).find({}, { sort: { day: -1 }, limit: 30 })
    if (tries < maxTries && JSON.stringify(await read()) !== JSON.stringify(calls)) continue
    const byDay = new Map(days.map((day) => [day.day, day]))
    for (const [at, day] of recent.entries()) {
      const lost = lostEstimates(calls[at], timestamp(now))
      if (lost.length === 0) continue
      const cost = byDay.get(day) ?? { id: day, day, input_tokens: 0, output_tokens: 0, millicents: 0, calls: 0 }
      byDay.set(day, {
        ...cost,
        millicents: lost.reduce((sum, estimate) => sum + estimate, cost.millicents),
        calls: cost.calls + lost.length,
      })
    }
    return [...byDay.values()].sort((a, b) => (a.day < b.day ? 1 : -1))
  }
}

function languageModel(settings: ModelSettings, purpose: Purpose): z.input<typeof Model> {
  const { model = "", images = false } = settings[purpose] ?? settings.default ?? {}
  return { purpose, model, images, setting: settingOf(settings[purpose] || !settings.default ? purpose : "default") }
}

function embeddingModel({ embedding }: ModelSettings): z.input<typeof Model> {
  return { purpose: "embedding", model: embedding?.model ?? "", images: false, setting: settingOf("embedding") }
}

function settingOf(name: string): string {
  return `plugins.settings.models.${name}`
}
