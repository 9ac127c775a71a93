// Stored files of events: one document an event, and the bytes in use. The bytes in use are the sum over the documents: each
// commit that adds or removes a document changes the sum.
import { type Document, defineCollection } from "#core"

export interface StoredFile {
  readonly key: string
  readonly field: string
  readonly name: string
  readonly type: string
  readonly size: number
}

/** `id` is the execution's. */
export interface StoredEventFiles extends Document {
  pipeline_id: string
  /** `reserved` until the event commits; absent: stored. */
  state?: "reserved" | "stored"
  files: StoredFile[]
  bytes: number
  /** Rows that the event wrote, for the erasure of a person. */
  row_ids: string[]
  received_at: string
}

export const EventFilesCollection = defineCollection<StoredEventFiles>()({
  name: "event_files",
  scope: "organization",
  times: ["received_at"],
  indexes: [{ fields: ["row_ids"] }],
  audit: "size",
})

/** `id` is the pipeline's, or the organization's for the sum. */
export interface FileUsage extends Document {
  bytes: number
}

export const FileUsageCollection = defineCollection<FileUsage>()({
  name: "event_file_usage",
  scope: "organization",
  times: [],
  indexes: [],
})
