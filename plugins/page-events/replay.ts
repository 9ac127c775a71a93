// Runs one journalled event again, and vouches for it: a receipt is given only when exactly one keyed write went to the
// shared dataset and the row is there afterwards. Anything else fails closed: no receipt, and the entry says why.
import { createHmac } from "node:crypto"
import {
  AppError,
  type Clock,
  type EventAnswer,
  type Json,
  type ReplayArgs,
  StagedWork,
  type Store,
  timestamp,
  type Vault,
  type Work,
} from "#core"
import type { Datasets, ReservedDataset } from "../datasets/index.ts"
import { BatchesCollection, placeOf } from "./collections.ts"
import { pageEventsDataset, pageEventsKey } from "./columns.ts"
import { rowOf } from "./rows.ts"
import { readEvent } from "./vocabulary.ts"

export interface ReplayDeps {
  readonly store: Store
  readonly clock: Clock
  readonly vault: Vault
  readonly datasets: Datasets
  readonly dataset: ReservedDataset
}

const stepId = "page_events"

export function replayer(deps: ReplayDeps): (args: ReplayArgs) => Promise<EventAnswer> {
  const key = deps.vault.keyFor("page event receipts")
  return async ({ pipeline, entry, draft, journal }) => {
    const { store, clock, datasets, dataset } = deps
    const { organization } = pipeline
    const place = placeOf(entry.envelope)
    const batch = place && (await store.open(BatchesCollection, organization.id).get(place.batch))
    const text = place && batch?.elements[place.index]
    if (!place || !batch || batch.pipeline_id !== pipeline.id || typeof text !== "string") throw gone()
    const read = readEvent(JSON.parse(text) as Json)
    if (!read.ok) throw closed("the event is none that may be submitted")
    const target = await datasets.get(organization.id, pageEventsDataset)
    if (target?.status !== "active" || (target.key !== null && target.key !== pageEventsKey))
      throw closed("the shared dataset takes no events")
    const values = rowOf(read.event, batch.context)
    const work = new StagedWork(draft.id)
    const origin = { executionId: entry.replay_of ?? entry.id, stepId, itemIndex: 0, receivedAt: timestamp(batch.context.received_at) }
    const written = await dataset.write(work, { organization, key: pageEventsKey, values, origin })
    refuseUnlessOneRow(work, target.id, written.row_id)
    draft.is_test = batch.context.is_test
    draft.envelope = { batch_id: place.batch, index: place.index }
    draft.rows = [{ step: stepId, dataset: pageEventsDataset, row_id: written.row_id }]
    journal.accept(draft)
    await journal.commit(work)
    const row = await datasets.rows(organization.id).get(written.row_id)
    if (row?.dataset_id !== target.id || row.values[pageEventsKey] !== read.event.event_id)
      throw closed("the row is not where it was written")
    const receipt = {
      execution_id: draft.id,
      replay_of: origin.executionId,
      dataset: `${organization.slug}.${pageEventsDataset}`,
      row_id: written.row_id,
      event_id: read.event.event_id,
      issued_at: timestamp(clock.now()),
    }
    const signature = createHmac("sha256", key)
      .update(JSON.stringify([organization.id, ...Object.values(receipt)]))
      .digest("base64url")
    const body = { status: "accepted", execution_id: draft.id, receipt: { ...receipt, signature } }
    return { execution_id: draft.id, status: "accepted", reply: { status: 200, headers: {}, body } }
  }
}

function refuseUnlessOneRow(work: Work, datasetId: string, rowId: string): void {
  const keyed = work.writes.filter((write) => write.kind === "merge")
  const [only] = keyed
  if (keyed.length === 1 && only?.kind === "merge" && only.doc.dataset_id === datasetId && only.doc.id === rowId) return
  throw closed(`${keyed.length} keyed writes were staged, where exactly one is due`)
}

function gone(): AppError {
  return new AppError("failed_precondition", "What this event came with is no longer kept, so it cannot be run again.", {
    reason: "payload_gone",
  })
}

function closed(why: string): AppError {
  return new AppError("failed_precondition", `No receipt is given: ${why}.`, { reason: "receipt_refused" })
}
