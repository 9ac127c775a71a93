// Leads of one organization that lie in several places, because its pipelines put them there: a warning to whoever saves
// one of them.
import { leadTargets, type Store, splitLeadsWarning } from "#core"
import { type PipelineRecord, Pipelines } from "./collections.ts"

const capturing = { purpose: "record_capture", state: "active" } as const

export class LeadSplits {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /** Warnings by slug, for those of many saved together that put leads elsewhere than the organization's other pipelines do. */
  async among(organization: string, slugs: ReadonlySet<string>): Promise<{ slug: string; warning: string }[]> {
    const records = await this.#store.open(Pipelines, organization).find(capturing, { limit: 10_000 })
    const captures = records.map(captureOf)
    return captures
      .filter(({ slug }) => slugs.has(slug))
      .flatMap((capture) => {
        const warning = splitLeadsWarning(
          capture,
          captures.filter((other) => other !== capture),
        )
        return warning ? [{ slug: capture.slug, warning: `${warning.rule}: ${warning.message}` }] : []
      })
  }

  /** Warnings for one that is being saved. */
  async of(organization: string, record: PipelineRecord): Promise<string[]> {
    const capture = captureOf(record)
    const own = record.purpose === "record_capture" ? leadTargets(capture) : []
    if (own.length === 0) return []
    const elsewhere = { ...capturing, id: { $ne: record.id }, write_target_datasets: { $nin: own } }
    const others = await this.#store.open(Pipelines, organization).find(elsewhere, { limit: 200 })
    const warning = splitLeadsWarning(capture, others.map(captureOf))
    return warning === undefined ? [] : [`${warning.rule}: ${warning.message}`]
  }
}

function captureOf({ slug, upserts, write_target_datasets: targets }: PipelineRecord) {
  return { slug, upserts, targets }
}
