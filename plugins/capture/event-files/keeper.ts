// Stores the files of an event in the bucket. Before the first byte, one commit reserves the bytes and enqueues a removal job.
// After an hour the job removes the files if their event was not committed. Otherwise it removes them when the payload of their
// event expires.
import { AppError, type Clock, derivedUuid, type JobQueue, type Store, type UnitOfWork, type UnitsOfWork } from "#core"
import type { FileKeeper, FileReference, FilesOfEvent, ReceivedFile } from "#core/engine"
import type { Buckets } from "../../data/buckets/index.ts"
import { EventFilesCollection } from "./collections.ts"
import { releaseReserved, removeRef } from "./removal.ts"
import { type EventFileSettings, reserveBytes } from "./usage.ts"

export interface KeeperServices {
  readonly store: Store
  readonly works: UnitsOfWork
  readonly queue: JobQueue
  readonly buckets: Buckets
  readonly clock: Clock
  readonly settings: EventFileSettings
  readonly payloadsDays: number
}

const dayMs = 86_400_000
const hourMs = 3_600_000
const maxNameLength = 60
const maxTypeLength = 100

export function fileKeeper({ store, works, queue, buckets, clock, settings, payloadsDays }: KeeperServices): FileKeeper {
  const { max_file_bytes, max_event_bytes } = settings
  const refer = ({ executionId }: FilesOfEvent, files: readonly ReceivedFile[]): FileReference[] => {
    for (const { field, bytes } of files)
      if (bytes.length > max_file_bytes) throw tooLarge(field, bytes.length, max_file_bytes, "max_file_bytes")
    const all = sizeOf(files)
    if (all > max_event_bytes) throw tooLarge(files[0]?.field ?? "", all, max_event_bytes, "max_event_bytes")
    return files.map(({ name, type, bytes }, index) => ({
      key: `event-files/${executionId}/${index + 1}${slugOf(name)}.bin`,
      name: name.slice(0, 255).toWellFormed(),
      type: type.slice(0, maxTypeLength),
      size: bytes.length,
    }))
  }

  return {
    maxEventBytes: max_event_bytes,
    refer,
    async keep(work: UnitOfWork, event: FilesOfEvent, files: readonly ReceivedFile[], rowIds: readonly string[]) {
      const { organization, executionId, pipelineId, receivedAt } = event
      const bytes = sizeOf(files)
      const references = refer(event, files)
      const keys = references.map(({ key }) => key)
      const remove_at = Date.parse(receivedAt) + payloadsDays * dayMs
      const stored = references.map((reference, index) => ({ ...reference, field: files[index]?.field ?? "" }))
      await works.retryConflicts(async (before) => {
        await reserveBytes(store, before, { organization, pipelineId, bytes }, settings)
        const doc = { id: executionId, pipeline_id: pipelineId, files: stored, bytes, row_ids: [], received_at: receivedAt }
        before.in(EventFilesCollection, organization).insert({ ...doc, state: "reserved" })
        queue.enqueue(
          before,
          removeRef,
          { organization, execution_id: executionId, keys, remove_at },
          {
            organization,
            id: derivedUuid("event-files", executionId),
            runAt: clock.now() + hourMs,
          },
        )
      })
      try {
        const bucket = buckets.open(organization)
        for (const [index, key] of keys.entries()) await bucket.put(key, files[index]?.bytes ?? new Uint8Array())
      } catch (error) {
        await releaseReserved({ store, works, buckets }, organization, executionId, keys).catch(() => {
          // The job removes the files within the hour. The error of the bucket is rethrown below.
        })
        throw error
      }
      const update = { $set: { state: "stored", row_ids: [...rowIds] } }
      work.in(EventFilesCollection, organization).update(executionId, update, { where: { state: "reserved" } })
    },
    async release(event: FilesOfEvent, files: readonly ReceivedFile[]) {
      const keys = refer(event, files).map(({ key }) => key)
      await releaseReserved({ store, works, buckets }, event.organization, event.executionId, keys)
    },
  }
}

function sizeOf(files: readonly ReceivedFile[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes.length, 0)
}

/** Returns the part of a name that is valid in a key, after a hyphen. */
function slugOf(name: string): string {
  const slug = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, maxNameLength)
    .replaceAll(/^-+|-+$/g, "")
  return slug === "" ? "" : `-${slug}`
}

function tooLarge(field: string, size: number, limit: number, setting: string): AppError {
  const shown = field.slice(0, 80).toWellFormed()
  const what = setting === "max_file_bytes" ? `The file in the field "${shown}" has` : "The files of the form have"
  const message = `${what} ${size} bytes; the limit is ${limit} (plugins.settings.event-files.${setting}).`
  const details = { reason: "file_too_large" as const, fields: [{ path: shown, message }], max_bytes: limit }
  return new AppError("resource_exhausted", message, details, { status: 413 })
}
