// Replays one journalled event. The receipt requires exactly one keyed write to the shared dataset, and the row read back after
// it.
// Otherwise the replay fails closed: no receipt, and a failed entry with the cause. So the row is committed before the entry.
// A repeated write produces the same row.
import { createHmac } from "node:crypto"
import { isDeepStrictEqual } from "node:util"
import { AppError, type Clock, type Json, type Store, timestamp, type UnitOfWork, type Vault } from "#core"
import { type EventResult, type ReplayArgs, StagedWork } from "#core/engine"
import type { Datasets, ReservedDataset, Row } from "../../data/datasets/index.ts"
import { BatchesCollection, placeOf } from "./collections.ts"
import { pageEventsDataset, pageEventsKey } from "./columns.ts"
import { envelopeOf, rowOf } from "./rows.ts"
import { readEvent } from "./vocabulary.ts"

export interface ReplayDeps {
  readonly store: Store
  readonly clock: Clock
  readonly vault: Vault
  readonly datasets: Datasets
  readonly dataset: ReservedDataset
}

const stepId = "page_events"

export function replayer(deps: ReplayDeps): (args: ReplayArgs) => Promise<EventResult> {
  const key = deps.vault.keyFor("page event receipts")
  return async (args) => {
    try {
      const result = await writeAgain(deps, args)
      args.draft.response = { status: 200, body: JSON.stringify({ status: "accepted", execution_id: args.draft.id }) }
      args.journal.accept(args.draft)
      await args.journal.commit(new StagedWork(`${args.draft.id}:receipt`))
      const receipt = { ...result, issued_at: timestamp(deps.clock.now()) }
      const signature = createHmac("sha256", key)
        .update(JSON.stringify([args.pipeline.organization.id, ...Object.values(receipt)]))
        .digest("base64url")
      const body = { status: "accepted", execution_id: args.draft.id, receipt: { ...receipt, signature } }
      return { execution_id: args.draft.id, status: "accepted", reply: { status: 200, headers: {}, body } }
    } catch (error) {
      if (error instanceof ReceiptRefused) await refuse(args, error)
      throw error
    }
  }
}

/** Commits the event's row and reads it back, before the entry reports success. */
async function writeAgain({ store, datasets, dataset }: ReplayDeps, { pipeline, entry, draft, journal }: ReplayArgs) {
  const { organization } = pipeline
  if (pipeline.document.state !== "active") throw turnedOff(pipeline.slug)
  const place = placeOf(entry.envelope)
  const batch = place && (await store.open(BatchesCollection, organization.id).get(place.batch))
  const text = place && batch?.elements[place.index]
  if (!place || !batch || batch.pipeline_id !== pipeline.id || typeof text !== "string")
    throw entry.status === "rejected" ? new ReceiptRefused("the event was rejected and wrote no row") : missingPage()
  draft.is_test = batch.context.is_test
  draft.envelope = { batch_id: place.batch, index: place.index, ...envelopeOf(batch.context) }
  const read = readEvent(JSON.parse(text) as Json, new Set(batch.context.names))
  if (!read.ok) throw new ReceiptRefused("the event cannot be submitted")
  const { event_id } = read.event
  const target = await datasets.get(organization.id, pageEventsDataset)
  if (target?.status !== "active" || (target.key !== null && target.key !== pageEventsKey))
    throw new ReceiptRefused("the shared dataset accepts no events")
  const work = new StagedWork(draft.id)
  const replay_of = entry.replay_of ?? entry.id
  const origin = { executionId: replay_of, stepId, itemIndex: 0, receivedAt: timestamp(batch.context.received_at) }
  const values = rowOf(read.event, batch.context)
  // Id of the event's earlier row. Earlier versions may have used another id.
  const id = entry.rows.find(({ dataset }) => dataset === pageEventsDataset)?.row_id
  const { row_id } = await dataset.write(work, { organization, key: pageEventsKey, id, values, origin })
  refuseUnlessOneRow(work, target.id, row_id)
  await journal.commit(work)
  const row = await datasets.rows(organization.id).get(row_id)
  if (row?.dataset_id !== target.id || row.values[pageEventsKey] !== event_id) throw new ReceiptRefused("the row is not in its dataset")
  const displaced = Object.keys(values).filter((column) => !isDeepStrictEqual(row.values[column], values[column]))
  if (displaced.length > 0) throw new ReceiptRefused(`a later event of the same event_id holds the row's ${displaced.join(", ")}`)
  draft.rows = [{ step: stepId, dataset: pageEventsDataset, row_id }]
  return { execution_id: draft.id, replay_of, dataset: `${organization.slug}.${pageEventsDataset}`, row_id, event_id }
}

/** Stores the cause in the entry. The status is `failed`, not `rejected`: the event was verified and may be replayed again. */
async function refuse({ draft, journal }: ReplayArgs, error: ReceiptRefused): Promise<void> {
  journal.reject(draft, "receipt_refused", error)
  draft.status = "failed"
  await journal.commit(new StagedWork(`${draft.id}:refused`))
}

function refuseUnlessOneRow(work: UnitOfWork, datasetId: string, rowId: string): void {
  const keyed = work.writes.flatMap((write) => (write.kind === "newest_wins" ? [write.doc as Partial<Row>] : []))
  const [only] = keyed
  if (keyed.length === 1 && only?.dataset_id === datasetId && only.id === rowId) return
  throw new ReceiptRefused(`${keyed.length} keyed writes were staged instead of exactly one`)
}

function missingPage(): AppError {
  return new AppError("failed_precondition", "This event's payload has expired, so it cannot be replayed.", {
    reason: "payload_expired",
  })
}

/** Also refuses a forced replay: a disabled pipeline writes no rows of the page. */
function turnedOff(slug: string): AppError {
  const message = `Analytics of this page are turned off: "${slug}" is not active, and writes nothing until it is, a forced replay included.`
  return new AppError("failed_precondition", message, { reason: "page_analytics_off" })
}

class ReceiptRefused extends AppError {
  constructor(why: string) {
    super("failed_precondition", `The replay has no receipt: ${why}.`, { reason: "receipt_refused" })
  }
}
