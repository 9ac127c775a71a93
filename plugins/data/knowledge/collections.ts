// Knowledge items with their versions, what waits to be read, and the index by which they are found.
import { z } from "zod"
import { type Document, defineCollection, derivedUuid, jobRef, token } from "#core"
import type { Knowledge } from "./knowledge.ts"

/** The service behind knowledge items. */
export const KnowledgeToken = token<Knowledge>("Knowledge")

export const itemTypes = ["markdown", "text", "html", "pdf"] as const
export type ItemType = (typeof itemTypes)[number]

export const contentStates = ["pending", "ready", "failed"] as const
export type ContentState = (typeof contentStates)[number]

export interface StoredVersion extends Document {
  item_id: string
  version: number
  type: ItemType
  content_state: ContentState
  content_reason: string
  content_message: string
  source_url: string
  /** Of the upload that it is made of. */
  upload_id?: string
  bytes: number
  text: string
  created_at: string
}

export const VersionCollection = defineCollection<StoredVersion>()({
  name: "knowledge_versions",
  scope: "organization",
  times: ["created_at"],
  indexes: [{ fields: ["item_id", "version"] }],
  audit: "size",
  auditFields: ["item_id"],
  repairsText: true,
})

/** The beginning of a text that is long, so that a page of a search does not read the whole of each; `id` is the item's. */
export interface StoredOpening extends Document {
  /** Of whose text it is the beginning. */
  version: number
  text: string
}

export const OpeningCollection = defineCollection<StoredOpening>()({
  name: "knowledge_openings",
  scope: "organization",
  times: [],
  indexes: [],
  audit: "none",
  repairsText: true,
})

export function versionId(item: string, version: number): string {
  return derivedUuid("knowledge version", item, String(version))
}

/** What was uploaded, until it is read; `id` is the version's. */
export interface StoredUpload extends Document {
  item_id: string
  base64: string
}

export const UploadCollection = defineCollection<StoredUpload>()({
  name: "knowledge_uploads",
  scope: "organization",
  times: [],
  indexes: [{ fields: ["item_id"] }],
  audit: "none",
})

/** A document that is uploaded by a link: in the bucket until it is read in. */
export interface StoredFile extends Document {
  state: "awaited" | "receiving" | "uploaded" | "claimed"
  /** Whose it is, once it is claimed. */
  item_id: string
  bytes: number
  /** Until when it may be uploaded and claimed. */
  expires_at: string
  /** The management link that the upload link ends with. */
  link?: { manager_id: string; since: string }
  /** The membership that the upload link ends with. */
  member?: { home_id: string; user_id: string; since: string }
}

export const FileCollection = defineCollection<StoredFile>()({
  name: "knowledge_files",
  scope: "organization",
  times: ["expires_at"],
  indexes: [{ fields: ["item_id"] }],
  audit: "none",
})

/** Which segments an organization's index has; `id` is the organization's. */
export interface StoredIndex extends Document {
  segments: { id: string; count: number; parts: number }[]
  /** Segments whose parts are stored one by one, and which no index has yet. */
  unfinished?: { id: string; parts: number }[]
  revision: number
}

export const IndexCollection = defineCollection<StoredIndex>()({
  name: "knowledge_indexes",
  scope: "organization",
  times: [],
  indexes: [],
  audit: "none",
})

/** A part of a segment. */
export interface StoredPart extends Document {
  base64: string
}

export const PartCollection = defineCollection<StoredPart>()({
  name: "knowledge_segments",
  scope: "organization",
  times: [],
  indexes: [],
  audit: "none",
})

export function partId(segment: string, part: number): string {
  return `${segment}:${part}`
}

/** An item that was deleted and may have entries in the index. */
export interface StoredRemoval extends Document {}

export const RemovalCollection = defineCollection<StoredRemoval>()({
  name: "knowledge_removals",
  scope: "organization",
  times: [],
  indexes: [],
  audit: "none",
})

export const readRef = jobRef("knowledge.read", z.strictObject({ item_id: z.string(), version: z.int() }), {
  retry: { max_attempts: 5, initial_delay_ms: 1_000, factor: 4, max_delay_ms: 300_000 },
  timeoutMs: 120_000,
})

export const dropFileRef = jobRef("knowledge.drop_upload", z.strictObject({ upload_id: z.string() }))

/** `vectors` limits the work to items without vectors. */
export const indexRef = jobRef("knowledge.index", z.strictObject({ vectors: z.boolean().optional() }), {
  retry: { max_attempts: 20, initial_delay_ms: 200, factor: 2, max_delay_ms: 60_000 },
  timeoutMs: 600_000,
})
