// A panel: personas read variants, each as often as there are draws. Every cell of the table is a job and an observation, so
// that a crash leaves only the missing ones to be done; when all are there, one decision check sums them up.
import { Clock, type Deps, derivedUuid, type Json, Postponed, Store, type UnitOfWork } from "#core"
import { type Answered, Models, type Question } from "../../../agents/models/index.ts"
import { ObservationCollection, type StoredExperiment, type StoredObservation } from "../collections.ts"
import { Experiments } from "../experiments.ts"
import { told } from "../failures.ts"
import { Ledger } from "../ledger.ts"
import { counted, isCorrection } from "../ledger-reading.ts"
import { finished, type PersonaSnapshot, RunCollection, requireRun, type StoredRun } from "../runs.ts"
import { shownOf, type VariantView, VariantViews } from "../variant-views.ts"
import { anchorSets, expected, points, rated } from "./anchors.ts"
import { ownWords, Rating, shownPage, withRating } from "./prompts.ts"
import { cellOf, panelRanking, panelSlugOf } from "./ranking.ts"

export interface CellRef {
  readonly run_id: string
  readonly persona: string
  readonly variant: string
  readonly draw: number
}

export type PanelDeps = Deps<typeof Panel.inject>

/** Draws differ by it; the same draw of the same cell is the same answer. */
const temperature = 0.7
const maxAnswerTokens = 400
/** Until the end of a panel is looked for again. */
const endMs = 300

export class Panel {
  static readonly inject = { store: Store, clock: Clock, models: Models, experiments: Experiments, ledger: Ledger, views: VariantViews }
  readonly #deps: PanelDeps

  constructor(deps: PanelDeps) {
    this.#deps = deps
  }

  /** What all cells may cost together, millicents, by an estimate from above. */
  estimate(personas: readonly PersonaSnapshot[], texts: readonly string[], draws: number, images: boolean): number {
    const { models } = this.#deps
    const each = personas.flatMap((persona) =>
      texts.map((text) => models.estimate(this.#question(persona, text, images ? [new Uint8Array()] : [], 1))),
    )
    return each.reduce((sum, one) => sum + one, 0) * draws
  }

  /** One cell, staged as an observation. Throws what a further try may mend. */
  async cell(work: UnitOfWork, organization: string, ref: CellRef, signal: AbortSignal): Promise<void> {
    const { store, models, experiments, views } = this.#deps
    const run = await requireRun(store, organization, ref.run_id)
    const persona = run.personas?.find(({ slug }) => slug === ref.persona)
    if (!persona) return
    const experiment = await experiments.require(organization, run.experiment_id)
    const view = await views.of(organization, run, ref.variant, models.language("persona"))
    const question = { ...this.#question(persona, view.text, view.image ? [view.image] : [], ref.draw), signal }
    if (!models.embedding()) {
      const { value, ...call } = await models.object(organization, { ...question, schema: Rating })
      const details = { method: "structured_rating", ...madeOf(call, view) }
      this.#observe(work, organization, experiment, ref, { value: value.likelihood, reason: value.answer, details })
      return
    }
    const { value: answer, ...call } = await models.text(organization, question)
    const [own = [], ...anchors] = (await models.embed(organization, [answer, ...anchorSets.flat()], { signal })).value
    const sets = anchorSets.map((_, place) => anchors.slice(place * points.length, (place + 1) * points.length))
    const distribution = rated(own, sets)
    const details = { method: "semantic_similarity", ...madeOf(call, view), distribution }
    this.#observe(work, organization, experiment, ref, { value: expected(distribution), reason: answer, details })
  }

  /** A cell that failed permanently: counted as failed, never as an opinion. */
  async failed(work: UnitOfWork, organization: string, ref: CellRef, error: unknown): Promise<void> {
    const { store, experiments } = this.#deps
    const run = await store.open(RunCollection, organization).get(ref.run_id)
    const experiment = run && (await experiments.require(organization, run.experiment_id))
    if (!experiment) return
    const { message, reason } = told(error)
    this.#observe(work, organization, experiment, ref, {
      value: null,
      reason: message,
      details: { failed: reason },
    })
  }

  /** Stages the decision check once every cell is there. Throws Postponed before. */
  async finish(work: UnitOfWork, organization: string, runId: string): Promise<void> {
    const { store, clock, experiments, ledger } = this.#deps
    const run = await requireRun(store, organization, runId)
    if (run.status === "completed") return
    const observations = store.open(ObservationCollection, organization)
    const filter = { experiment_id: run.experiment_id, run_id: run.id, kind: "panel" }
    if ((await observations.count(filter, { limit: cellsOf(run) })) < cellsOf(run)) throw new Postponed(endMs)
    const said: StoredObservation[] = []
    for await (const one of observations.stream(filter)) said.push(one)
    if (said.filter((one) => !isCorrection(one)).length < cellsOf(run)) throw new Postponed(endMs)
    const cells = counted(said).map(cellOf)
    const experiment = await experiments.require(organization, run.experiment_id)
    const result = panelRanking(
      cells,
      run.variants.map(({ key }) => key),
      (run.personas ?? []).map(({ slug }) => slug),
    )
    const [best] = result.ranking
    ledger.add(work, organization, experiment, {
      id: derivedUuid("decision check", run.id),
      kind: "decision_check",
      variant_key: best?.variant_key ?? "",
      judge_slug: panelSlugOf(this.#deps.models.language("persona").model),
      value: best?.score ?? null,
      reason: `Panel of ${run.personas?.length ?? 0} personas, ${run.draws ?? 1} draws each.`,
      details: result as unknown as Record<string, Json>,
      run_id: run.id,
    })
    work.in(RunCollection, organization).update(run.id, finished(result as unknown as Json, clock.now()), { where: { status: "running" } })
  }

  #question(persona: PersonaSnapshot, text: string, images: readonly Uint8Array[], draw: number): Question {
    const prompt = this.#deps.models.embedding() ? ownWords(persona) : withRating(persona)
    return {
      purpose: "persona",
      prompt,
      input: shownPage(text),
      images,
      seat: `draw ${draw}`,
      temperature,
      maxOutputTokens: maxAnswerTokens,
    }
  }

  #observe(
    work: UnitOfWork,
    organization: string,
    experiment: StoredExperiment,
    { run_id, persona, variant, draw }: CellRef,
    said: { value: number | null; reason: string; details: Record<string, Json> },
  ): void {
    const id = derivedUuid("panel cell", run_id, persona, variant, String(draw))
    const cell = { id, kind: "panel" as const, variant_key: variant, judge_slug: `persona:${persona}`, run_id }
    this.#deps.ledger.add(work, organization, experiment, { ...cell, ...said, details: { ...said.details, draw } })
  }
}

/** What made an answer: the model and prompt, what it cost, and how the page was shown. */
function madeOf({ madeBy, costMillicents, kept }: Omit<Answered<unknown>, "value">, view: VariantView) {
  return { made_by: madeBy, cost_millicents: costMillicents, kept, ...shownOf(view) }
}

export function cellsOf({ personas = [], variants, draws = 1 }: StoredRun): number {
  return personas.length * variants.length * draws
}
