// Counts the bytes of stored files, for the quotas of pipelines and organizations.
import type { UnitOfWork } from "#core"
import { FileUsageCollection } from "./collections.ts"

/** Stages a change of the bytes in use. */
export function countBytes(work: UnitOfWork, organization: string, pipelineId: string, bytes: number): void {
  for (const id of [pipelineId, organization]) {
    work.in(FileUsageCollection, organization).update(id, { $inc: { bytes } }, { upsert: true })
  }
}
