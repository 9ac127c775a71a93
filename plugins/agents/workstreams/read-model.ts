// Reads a whole workstream: the workstream, its parts in one query, and its newest events in another. Both lists of decisions
// come from the same snapshot, since a query reads all parts at the same instant.
import { z } from "zod"
import type { Caller, Store } from "#core"
import {
  EventCollection,
  PartCollection,
  type PartKind,
  type PartOf,
  type StoredDecision,
  type StoredEvent,
  type StoredPart,
  type StoredWorkstream,
} from "./collections.ts"
import {
  AssignmentResource,
  DecisionResource,
  EventResource,
  PhaseResource,
  ResourceResource,
  shownAssignment,
  shownDecision,
  shownEvent,
  shownPhase,
  shownResource,
  shownWorkstream,
  WorkstreamResource,
} from "./operations/resource.ts"
import { followerOf, maxParts } from "./workstreams.ts"

const maxEvents = 100
const maxRecent = 50
const maxAllParts = Object.values(maxParts).reduce((sum, max) => sum + max, 0)

export const ReadModel = z
  .object({
    workstream: WorkstreamResource,
    assignments: z.array(AssignmentResource),
    current_decisions: z.array(DecisionResource).describe("Those that stand, and those that wait to be authorized."),
    recent_decisions: z.array(DecisionResource).describe("The newest of the others."),
    events: z.array(EventResource).describe("The newest 100, newest first."),
    phases: z.array(PhaseResource),
    resources: z.array(ResourceResource),
    following: z.boolean().describe("Whether the caller follows it."),
  })
  .meta({ id: "WorkstreamReadModel" })

export interface WholeWorkstream {
  readonly workstream: StoredWorkstream
  readonly parts: readonly StoredPart[]
  /** Newest first. */
  readonly events: readonly StoredEvent[]
}

/** Returns the parts and events of a workstream. `staged`: events of this call, not stored yet. */
export async function wholeOf(
  store: Store,
  organization: string,
  workstream: StoredWorkstream,
  staged: readonly StoredEvent[] = [],
): Promise<WholeWorkstream> {
  const of = { workstream_id: workstream.id }
  const [parts, events] = await Promise.all([
    store.open(PartCollection, organization).find(of, { sort: { kind: 1, slug: 1 }, limit: maxAllParts, snapshot: true }),
    store.open(EventCollection, organization).find(of, { sort: { id: -1 }, limit: maxEvents }),
  ])
  return { workstream, parts, events: [...staged.toReversed(), ...events].slice(0, maxEvents) }
}

export function shownWhole({ workstream, parts, events }: WholeWorkstream, caller: Caller): z.input<typeof ReadModel> {
  const decisions = partsOf(parts, "decision")
  const organization = caller.organization.id
  return {
    workstream: shownWorkstream({ ...workstream, organization_id: organization }),
    assignments: partsOf(parts, "assignment").sort(byId).map(shownAssignment),
    current_decisions: decisions.filter(isCurrent).sort(byId).reverse().map(shownDecision),
    recent_decisions: decisions
      .filter((decision) => !isCurrent(decision))
      .sort((left, right) => (left.updated_at === right.updated_at ? byId(right, left) : left.updated_at < right.updated_at ? 1 : -1))
      .slice(0, maxRecent)
      .map(shownDecision),
    events: events.map((event) => shownEvent(event, organization)),
    phases: partsOf(parts, "phase")
      .sort((left, right) => left.sort_order - right.sort_order || byId(left, right))
      .map(shownPhase),
    resources: partsOf(parts, "resource").sort(byId).map(shownResource),
    following: workstream.followers.includes(followerOf(caller)),
  }
}

function partsOf<K extends PartKind>(parts: readonly StoredPart[], kind: K): PartOf<K>[] {
  return parts.filter((part) => part.kind === kind) as PartOf<K>[]
}

function isCurrent({ status }: StoredDecision): boolean {
  return status === "proposed" || status === "authorized"
}

/** Compares by id, the order of creation. */
function byId(first: { readonly id: string }, second: { readonly id: string }): number {
  return first.id < second.id ? -1 : 1
}
