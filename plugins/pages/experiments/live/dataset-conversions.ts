// Conversions from rows of a dataset, since the start: rows of the experiment's page and variants with the goal's values.
// A row with a `session_id` belongs to that visitor. A row without a session counts by itself.
import { type Filter, type Json, timestamp } from "#core"
import type { Datasets } from "../../../data/datasets/index.ts"
import type { Goal, StoredExperiment } from "../collections.ts"

export interface DatasetConversions {
  readonly sessions: readonly string[]
  readonly unlinked: readonly { readonly variant: number; readonly at: number }[]
}

export const noConversions: DatasetConversions = { sessions: [], unlinked: [] }

export async function datasetConversions(
  datasets: Datasets,
  organization: string,
  { page_id, variants }: StoredExperiment,
  { dataset_slug, where }: Extract<Goal, { kind: "dataset" }>,
  { from, until }: { readonly from: number; readonly until: number },
): Promise<DatasetConversions> {
  const dataset = await datasets.get(organization, dataset_slug)
  if (!dataset) return noConversions
  const filters = Object.entries(where).map(([column, value]): Filter => ({ [`values.${column}`]: value as Json }))
  const filter: Filter = {
    dataset_id: dataset.id,
    created_at: { $gte: timestamp(from), $lt: timestamp(until) },
    $and: [{ "values.artifact_id": page_id ?? "" }, ...filters],
  }
  const places = new Map(variants.map(({ page_variant }, place) => [page_variant, place]))
  const sessions = new Set<string>()
  const unlinked: { variant: number; at: number }[] = []
  for await (const { values, created_at } of datasets.rows(organization).stream(filter, { sort: { created_at: 1 } })) {
    if (values["is_test"] === true) continue
    const session = values["session_id"]
    const variant = places.get(String(values["variant"] ?? ""))
    // The query separates session ids by spaces. An id with a space counts as no session.
    if (typeof session === "string" && session !== "" && !session.includes(" ")) sessions.add(session)
    else if (variant !== undefined) unlinked.push({ variant, at: Date.parse(created_at) })
  }
  return { sessions: [...sessions], unlinked }
}
