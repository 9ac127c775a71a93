// Counts the bytes of stored files, for the quotas of pipelines and organizations.

import { z } from "zod"
import { AppError, type Store, type UnitOfWork } from "#core"
import { EventFilesCollection, FileUsageCollection, type StoredEventFiles } from "./collections.ts"

const bytes = (value: number, what: string) => z.int().min(1).default(value).describe(what)

/** Limits of the files of forms. */
export const EventFileSettings = z.strictObject({
  max_file_bytes: bytes(10_485_760, "Maximum bytes of one file of a form."),
  max_event_bytes: bytes(10_485_760, "Maximum bytes of all files of one event."),
  max_pipeline_bytes: bytes(1_073_741_824, "Maximum bytes of all stored files of one pipeline."),
  max_organization_bytes: bytes(5_368_709_120, "Maximum bytes of all stored files of one organization."),
})
export type EventFileSettings = z.output<typeof EventFileSettings>

interface Usage {
  readonly organization: string
  readonly pipelineId: string
  readonly bytes: number
}

type Quotas = Pick<EventFileSettings, "max_organization_bytes" | "max_pipeline_bytes">

/** Stages the removal of a document and of its bytes in use. */
export function removeDocument(
  work: UnitOfWork,
  organization: string,
  { id, pipeline_id, bytes }: StoredEventFiles,
  options: { readonly where?: { readonly state: "reserved" } } = {},
): void {
  work.in(EventFilesCollection, organization).remove(id, options)
  for (const used of [pipeline_id, organization]) {
    work.in(FileUsageCollection, organization).update(used, { $inc: { bytes: -bytes } }, { upsert: true })
  }
}

/**
 * Stages the use of bytes. Throws `file_quota_exceeded` above a quota. The commit fails if concurrent uses exceed the quota
 * together.
 */
export async function reserveBytes(store: Store, work: UnitOfWork, usage: Usage, quotas: Quotas): Promise<void> {
  const { organization, pipelineId, bytes } = usage
  for (const [id, setting] of [
    [pipelineId, "max_pipeline_bytes"],
    [organization, "max_organization_bytes"],
  ] as const) {
    const limit = quotas[setting]
    const used = (await store.open(FileUsageCollection, organization).get(id))?.bytes ?? 0
    if (used + bytes > limit) {
      const message = `The files have ${bytes} bytes, and ${used} bytes are stored; the limit is ${limit} (plugins.settings.event-files.${setting}).`
      throw new AppError("resource_exhausted", message, { reason: "file_quota_exceeded", max_bytes: limit }, { status: 413 })
    }
    const where = { bytes: { $lte: limit - bytes } }
    work.in(FileUsageCollection, organization).update(id, { $inc: { bytes } }, { upsert: true, where })
  }
}
