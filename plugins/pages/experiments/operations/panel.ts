// Starts a panel. It runs as jobs. If the panel outlasts the call, the call returns partial results.
import { z } from "zod"
import { AnyJson, AppError, defineOperation, type JobQueue, type Json, resultOf, type Store, type UnitOfWork, Uuid } from "#core"
import type { ExperimentVariant, StoredExperiment } from "../collections.ts"
import { bySlug, onThatPage, pageOfTwo, requireStatus, requireVariant, VariantKey } from "../experiment.ts"
import { cellsOf, ExperimentConfig, type ExperimentSettings, type Panel, PanelToken, panelCell, panelEnd } from "../panel/panel.ts"
import { Personas } from "../personas.ts"
import { awaitedRun, beginOrJoin, type PersonaSnapshot, type StoredRun } from "../runs.ts"
import { commitRun, newRun, type RunCall, type RunDeps, runTokens } from "./run-start.ts"

const maxPersonas = 100
const maxListed = 1_000

const Ranking = z
  .record(z.string(), AnyJson)
  .describe(
    "Details of the decision check: `ranking`, `kill_list` with reasons, `persona_scores`, `failed_cells`; empty until it is completed.",
  )

const inject = { ...runTokens, panel: PanelToken, settings: ExperimentConfig }

interface PanelDeps extends RunDeps {
  readonly panel: Panel
  readonly settings: ExperimentSettings
}

interface PanelRequest {
  readonly draws: number
  readonly persona_slugs?: readonly string[] | undefined
  readonly variant_keys?: readonly string[] | undefined
}

export const startPanel = defineOperation({
  name: "experiments.start_panel",
  summary: "Have personas read an experiment's variants, and rank these by how likely they would act.",
  description:
    "Each persona reads each variant as often as `draws` says; every answer is an observation of kind `panel`. Where all are there within the call's deadline, `completed` is true and `ranking` holds the decision check; else the rest follows on the ledger and the live channel `experiments`. A repeat with the same Idempotency-Key gives the same run.",
  http: { method: "POST", path: "/v1/experiments/{slug}/panel" },
  access: { scope: "experiments:write", role: "member" },
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  mcp: { listed: true },
  joinsRepeats: ({ completed }) => completed,
  input: z.strictObject({
    ...bySlug,
    draws: z.int().min(1).max(20).default(3).describe("How often each persona reads each variant."),
    persona_slugs: z
      .array(z.string().min(1).max(100))
      .min(1)
      .max(maxPersonas)
      .optional()
      .describe(`By default the organization's first ${maxPersonas} personas by slug. \`skipped_personas\` names the rest.`),
    variant_keys: z.array(VariantKey).min(1).max(20).optional().describe("All variants of the experiment when absent."),
  }),
  output: z.object({
    completed: z.boolean(),
    draws: z.int(),
    experiment_run_id: Uuid,
    experiment_slug: z.string(),
    note: z.string(),
    panel_run_id: z.string(),
    personas: z.array(z.string()),
    ranking: Ranking,
    skipped_personas: z.array(z.string()).describe(`Personas beyond the ${maxPersonas} that a panel takes.`),
    skipped_variants: z.array(z.string()).describe("Variants whose page has none of that key."),
    started: z.boolean().describe("Whether this call began the run; false where it joined it."),
    variant_keys: z.array(z.string()),
  }),
  errors: ["invalid_argument", "not_found", "failed_precondition", "resource_exhausted"],
  examples: [
    {
      given: { page: pageOfTwo, experiment: onThatPage, persona: "personas.create" },
      input: { slug: resultOf("experiment.slug"), draws: 1 },
    },
  ],
  inject,
  async handle({ input: { slug, ...request }, caller, deps, signal, callId }) {
    const organization = caller.organization.id
    const untilMs = deps.clock.monotonic() + deps.settings.sync_deadline_ms
    const experiment = await deps.experiments.require(organization, slug)
    const canonical = JSON.stringify([experiment.id, request])
    const variants = wantedVariants(experiment, request.variant_keys)
    const { there, withoutPage } = await deps.views.split(organization, experiment, variants)
    let started = false
    const run = await beginOrJoin(deps.store, organization, { id: callId, asked: canonical }, async () => {
      const startedRun = await begin(deps, { caller, experiment, id: callId, asked: canonical, variants: there }, request)
      started = true
      return startedRun
    })
    const { status, result } = await awaitedRun(deps, organization, run.id, { untilMs, signal })
    const completed = status === "completed"
    return {
      completed,
      draws: run.draws ?? request.draws,
      experiment_run_id: run.id,
      experiment_slug: experiment.slug,
      note: noteOf(run, completed),
      panel_run_id: run.id,
      personas: (run.personas ?? []).map((persona) => persona.slug),
      ranking: (completed ? result : {}) as Record<string, Json>,
      skipped_personas: run.skipped_personas ?? [],
      skipped_variants: withoutPage,
      started,
      variant_keys: run.variants.map(({ key }) => key),
    }
  },
})

/** Commits the run with all its jobs before the first model request. */
async function begin(deps: PanelDeps, call: RunCall, { draws, persona_slugs }: PanelRequest): Promise<StoredRun> {
  const { experiment, variants, caller } = call
  const organization = caller.organization.id
  requireStatus(experiment, ["draft", "running"], "A panel")
  const { images } = deps.models.language("persona")
  const { personas, skipped_personas } = await personasOf(deps.store, organization, persona_slugs)
  if (variants.length === 0) {
    throw new AppError("failed_precondition", `None of the variants of "${experiment.slug}" is a variant of its page.`, {
      reason: "variants_missing",
    })
  }
  const texts = await deps.views.texts(organization, experiment, variants)
  const run = newRun(call, deps.clock.now(), { kind: "panel", texts, personas, skipped_personas, draws })
  const cells = cellsOf(run)
  if (cells > deps.settings.max_panel_cells) {
    const message = `${personas.length} personas x ${variants.length} variants x ${draws} draws are ${cells} cells; a panel has at most ${deps.settings.max_panel_cells}`
    throw new AppError("invalid_argument", `${message}. Name fewer personas or variants, or take fewer draws.`, {
      reason: "panel_too_large",
      fields: [{ path: "draws", message }],
    })
  }
  await deps.models.afford(organization, deps.panel.estimate(personas, Object.values(texts), draws, images))
  return await commitRun(deps, call, run, (work) => enqueueCells(work, deps.queue, organization, run))
}

function enqueueCells(
  work: UnitOfWork,
  queue: JobQueue,
  organization: string,
  { id: run_id, personas = [], variants, draws = 1 }: StoredRun,
): void {
  for (let draw = 1; draw <= draws; draw++) {
    for (const { slug: persona } of personas) {
      for (const { key: variant } of variants)
        queue.enqueue(work, panelCell, { run_id, persona, variant, draw }, { organization, key: run_id })
    }
  }
  queue.enqueue(work, panelEnd, { run_id }, { organization, key: `${run_id} end` })
}

function wantedVariants(experiment: StoredExperiment, keys: readonly string[] | undefined): ExperimentVariant[] {
  if (!keys) return experiment.variants
  for (const [place, key] of keys.entries()) requireVariant(experiment, key, `variant_keys.${place}`)
  return experiment.variants.filter(({ key }) => keys.includes(key))
}

interface Chosen {
  readonly personas: PersonaSnapshot[]
  readonly skipped_personas: string[]
}

async function personasOf(store: Store, organization: string, slugs: readonly string[] | undefined): Promise<Chosen> {
  const filter = slugs ? { slug: { $in: slugs } } : {}
  const personas = await store.open(Personas.collection, organization).find(filter, { sort: { slug: 1 }, limit: maxListed })
  const missing = (slugs ?? []).flatMap((slug, place) =>
    personas.some((persona) => persona.slug === slug) ? [] : [{ slug, path: `persona_slugs.${place}` }],
  )
  if (missing.length > 0) {
    const fields = missing.map(({ slug, path }) => ({ path, message: `the organization has no persona "${slug}"` }))
    throw new AppError("invalid_argument", `${fields[0]?.path}: ${fields[0]?.message}.`, { reason: "persona_unknown", fields })
  }
  if (personas.length === 0) {
    throw new AppError("failed_precondition", "A panel needs personas; POST /v1/personas makes one.", { reason: "personas_missing" })
  }
  return {
    personas: personas
      .slice(0, maxPersonas)
      .map(({ slug, name, description, goals, fears }) => ({ slug, name, description, goals, fears })),
    skipped_personas: personas.slice(maxPersonas).map(({ slug }) => slug),
  }
}

function noteOf(run: StoredRun, completed: boolean): string {
  const { length } = run.skipped_personas ?? []
  const skipped = length > 0 && `A panel takes ${maxPersonas} personas. ${length} did not take part; see skipped_personas.`
  const pending = !completed && `${cellsOf(run)} cells are in progress; results follow as observations of this run.`
  return [skipped, pending].filter(Boolean).join(" ")
}
