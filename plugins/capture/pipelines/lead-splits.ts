// Leads of one organization that lie in several places, because its pipelines write to several datasets: a
// warning when one of them is saved.
import type { Store } from "#core"
import { type LeadCapture, leadCapture, splitLeadsWarning } from "../../data/datasets/index.ts"
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
    const captures = records.filter((record) => !acknowledges(record)).flatMap((record) => captureOf(record) ?? [])
    return captures
      .filter(({ slug }) => slugs.has(slug))
      .flatMap((capture) => {
        const warning = splitLeadsWarning(capture, captures)
        return warning ? [{ slug: capture.slug, warning: `${warning.rule}: ${warning.message}` }] : []
      })
  }

  /** Warnings for one that is being saved. */
  async of(organization: string, record: PipelineRecord): Promise<string[]> {
    const capture = captureOf(record)
    // A pipeline that takes no events splits nothing; once it is made active, the warning is there.
    if (!capture || record.purpose !== "record_capture" || record.state !== "active" || acknowledges(record)) return []
    const elsewhere = { ...capturing, id: { $ne: record.id }, write_target_datasets: { $nin: capture.targets } }
    const others = await this.#store.open(Pipelines, organization).find(elsewhere, { limit: 1_000 })
    const warning = splitLeadsWarning(
      capture,
      others.flatMap((other) => (acknowledges(other) ? [] : (captureOf(other) ?? []))),
    )
    return warning === undefined ? [] : [`${warning.rule}: ${warning.message}`]
  }
}

function acknowledges({ document }: PipelineRecord): boolean {
  return document.acknowledged_warnings?.includes("split-leads-dataset") ?? false
}

function captureOf({ slug, upserts, write_target_datasets: targets, document }: PipelineRecord): LeadCapture | undefined {
  const { pipeline, request_schema } = document
  return leadCapture({ slug, upserts, targets, pipeline, request_schema })
}
