// Timeline sources of this area: rows about a lead, and manual changes.
import type { Store } from "#core"
import {
  ChangeCollection,
  identityIds,
  type LeadChange,
  LeadCollection,
  type LeadRow,
  LeadRowCollection,
  referenceOf,
} from "../collections.ts"
import { type LeadTimelineSource, newestFirst, type TimelineEntry, type TimelineQuery } from "./sources.ts"

/** Returns the find options of a query, for all sources. */
function findOptions({ limit, after }: Pick<TimelineQuery, "limit" | "after">) {
  return { sort: { at: -1, id: -1 }, limit, ...(after ? { after } : {}) } as const
}

export function rowSource(store: Store): LeadTimelineSource {
  return async (query) => {
    const { organization } = query
    const identities = identityIds(organization, query)
    if (identities.length === 0) return []
    const rows = await store.open(LeadRowCollection, organization).find({ identity_id: { $in: identities } }, findOptions(query))
    return rows.map(shownRow)
  }
}

export function changeSource(store: Store): LeadTimelineSource {
  return async (query) => {
    const { organization, leadIds } = query
    const changes = await store.open(ChangeCollection, organization).find({ lead_id: { $in: [...leadIds] } }, findOptions(query))
    return changes.map(shownChange)
  }
}

/**
 * Returns a timeline source of first contacts. A lead created by a row stores its first contact itself. This saves a document per
 * person.
 */
export function beginningSource(store: Store): LeadTimelineSource {
  return async ({ organization, leadIds, limit, after }) => {
    const leads = await store.open(LeadCollection, organization).find({ id: { $in: [...leadIds] } }, { limit: leadIds.length })
    const begun = leads.flatMap(({ id, created_with }) =>
      created_with ? [shownChange({ ...unchanged, ...created_with, id, lead_id: id })] : [],
    )
    const rest = after ? begun.filter((one) => newestFirst(one, { at: after[0], id: after[1] }) > 0) : begun
    return rest.sort(newestFirst).slice(0, limit)
  }
}

const unchanged = { kind: "created", other_lead_id: null, note: "", credential_id: null } as const

function shownRow({ id, at, dataset, row_id, execution_id, pipeline }: LeadRow): TimelineEntry {
  const evidence = { dataset, row_id, ...(execution_id === null ? {} : { execution_id, pipeline }) }
  if (pipeline === null) return { id, at, kind: "dataset.row_written", summary: `A row of ${dataset} names the lead.`, evidence }
  return { id, at, kind: "pipeline.event", summary: `An event of ${pipeline} wrote a row to ${dataset}.`, evidence }
}

const sentences: Readonly<Record<LeadChange["kind"], (other: string) => string>> = {
  created: () => "First seen.",
  merged: (other) => `The lead ${other} was merged into this one.`,
  merged_into: (other) => `Merged into the lead ${other}.`,
  split: (other) => `A part of it was split off as the lead ${other}.`,
  split_off: (other) => `Split off from the lead ${other}.`,
}

function shownChange({ id, at, kind, lead_id, other_lead_id, emails, phones, note, credential_id }: LeadChange): TimelineEntry {
  const summary = sentences[kind](other_lead_id === null ? "" : referenceOf(other_lead_id))
  return { id, at, kind: `lead.${kind}`, summary, evidence: { lead_id, other_lead_id, emails, phones, note, credential_id } }
}
