// Warns on save if an organization's pipelines write leads to several datasets.
import type { Store } from "#core"
import { type LeadCapture, leadCapture, splitLeadsWarning } from "../../data/datasets/index.ts"
import { type PipelineRecord, Pipelines } from "./collections.ts"

const capturing = { purpose: "record_capture", state: "active" } as const

export class LeadSplits {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /**
   * Returns warnings by slug for pipelines saved together, if they write leads to other datasets than the organization's other
   * pipelines.
   */
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

  /** Returns warnings for a pipeline about to be saved. */
  async of(organization: string, record: PipelineRecord): Promise<string[]> {
    const capture = captureOf(record)
    // An inactive pipeline receives no events. The warning appears on activation.
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
