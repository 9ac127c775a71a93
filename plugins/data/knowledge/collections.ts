// Collections of knowledge items: versions, unread uploads, and the search index.
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
  /** The upload with this version's content. */
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

/** The beginning of a long text, so a page of search results does not read whole texts. `id` is the item's ID. */
export interface StoredOpening extends Document {
  /** Version of the text. */
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

/** Uploaded bytes until they are read. `id` is the version's ID. */
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

/** A document uploaded by link. It is in the bucket until it is read. */
export interface StoredFile extends Document {
  state: "awaited" | "receiving" | "uploaded" | "claimed"
  /** The item that claimed the document. */
  item_id: string
  bytes: number
  /** Deadline for the upload and the claim. */
  expires_at: string
  /** Management link of the creator. The upload link ends with it. */
  link?: { manager_id: string; since: string }
  /** Membership of the creator. The upload link ends with it. */
  member?: { home_id: string; user_id: string; since: string }
}

export const FileCollection = defineCollection<StoredFile>()({
  name: "knowledge_files",
  scope: "organization",
  times: ["expires_at"],
  indexes: [{ fields: ["item_id"] }],
  audit: "none",
})

/** List of an organization's index segments. `id` is the organization's ID. */
export interface StoredIndex extends Document {
  segments: { id: string; count: number; parts: number }[]
  /** Segments with parts in separate commits, before the index lists them. */
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

/** A deleted item that may still have index entries. */
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
