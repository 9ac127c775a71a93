// Stored files of events: one document per event, and the bytes in use. The bytes in use are the sum over the documents. Each
// commit that adds or removes a document changes the sum.
import { type Document, defineCollection } from "#core"

export interface StoredFile {
  readonly key: string
  readonly field: string
  readonly name: string
  readonly type: string
  readonly size: number
}

/** `id` is the execution's ID. */
export interface StoredEventFiles extends Document {
  pipeline_id: string
  /** `reserved` until the event commits. Absent: stored. */
  state?: "reserved" | "stored"
  files: StoredFile[]
  bytes: number
  /** Rows written by the event, for the erasure of a person. */
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

/** `id` is the pipeline's ID, or the organization's ID for the sum. */
export interface FileUsage extends Document {
  bytes: number
}

export const FileUsageCollection = defineCollection<FileUsage>()({
  name: "event_file_usage",
  scope: "organization",
  times: [],
  indexes: [],
})
