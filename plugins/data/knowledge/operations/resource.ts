// Knowledge items as callers see them, and the fields that inputs share.
import { z } from "zod"
import { AppError, Timestamp, Uuid } from "#core"
import { contentStates, type ItemType, itemTypes, type StoredItem, type StoredVersion } from "../collections.ts"
import type { Content } from "../knowledge.ts"

const maxUrl = 2_048

export const itemFields = {
  title: z.string().trim().max(300).describe("Empty: what the document says of itself, or its first line."),
  description: z.string().trim().max(4_000),
  category: z.string().trim().max(100).describe("A name of your own to filter by."),
  type: z.enum(itemTypes).describe("Of a URL it is what its server says; `markdown` is told from `text` by it."),
  content: z.string().max(1_000_000).describe("The document as text: Markdown, plain text or HTML."),
  content_base64: z.base64().max(1_000_000).describe("The document's bytes, for a PDF; larger ones are given by upload or URL."),
  upload_id: Uuid.describe("Of POST /v1/knowledge-uploads, once the document was sent to its link."),
  url: z
    .string()
    .max(maxUrl)
    .refine((text) => /^https?:\/\//i.test(text) && URL.canParse(text), "an absolute http(s) URL")
    .describe("Where the document is; fetched once."),
}

export const KnowledgeItem = z
  .object({
    category: z.string(),
    content: z.string().describe("The text that was read; in lists and searches its first 2,000 characters."),
    content_state: z.enum(contentStates).describe("Of the latest version: `pending` while it is read in; `failed`: see `content_reason`."),
    created_at: Timestamp,
    description: z.string(),
    id: Uuid,
    title: z.string(),
    type: z.enum(itemTypes),
    updated_at: Timestamp,
    content_reason: z.string().describe("A stable word for why the latest version could not be read; empty otherwise."),
    content_message: z.string(),
    content_version: z.int().describe("The version whose text this is; 0: none was read."),
    version: z.int().describe("The latest version."),
    characters: z.int().describe("Length of the text."),
    source_url: z.string().describe("Where the latest version is from; empty: it was uploaded."),
    revision: z.int(),
  })
  .meta({ id: "KnowledgeItem" })

/** Shown by a read; taken back by an update as they were. */
export const readOnlyItemFields = [
  ...(["content_state", "content_reason", "content_message", "content_version", "version", "characters"] as const),
  ...(["source_url", "created_at", "updated_at", "revision"] as const),
] as const

export function shownItem(item: StoredItem, content = item.excerpt): z.input<typeof KnowledgeItem> {
  const { id, title, description, category, type, content_state, content_reason, content_message, content_version } = item
  const { version, characters, source_url, revision, created_at, updated_at } = item
  return {
    ...{ id, title, description, category, type, content, content_state, content_reason, content_message, content_version },
    ...{ version, characters, source_url, revision, created_at, updated_at },
  }
}

const versionFields = {
  version: z.int(),
  type: z.enum(itemTypes),
  content_state: z.enum(contentStates),
  content_reason: z.string(),
  content_message: z.string(),
  source_url: z.string(),
  bytes: z.int(),
  created_at: Timestamp,
}

export const KnowledgeVersion = z.object(versionFields).meta({ id: "KnowledgeVersion" })
export const KnowledgeVersionText = z.object({ ...versionFields, content: z.string() }).meta({ id: "KnowledgeVersionText" })

export function shownVersion({ version, type, source_url, bytes, created_at, ...rest }: StoredVersion): z.input<typeof KnowledgeVersion> {
  const { content_state, content_reason, content_message } = rest
  return { version, type, content_state, content_reason, content_message, source_url, bytes, created_at }
}

export interface GivenContent {
  readonly type?: ItemType | undefined
  readonly content?: string | undefined
  readonly content_base64?: string | undefined
  readonly upload_id?: string | undefined
  readonly url?: string | undefined
}

/** undefined where none is given. Throws `invalid_argument` for several, and for a form that the type does not have. */
export function contentOf({ type = "markdown", content, content_base64, upload_id, url }: GivenContent): Content | undefined {
  const given = Object.entries({ content, content_base64, upload_id, url }).filter(([, value]) => value !== undefined)
  if (given.length > 1) throw refused(given[1]?.[0] ?? "content", "give the content in one way: content, content_base64, upload_id or url")
  if (content !== undefined && type === "pdf") throw refused("content", "a PDF is given as content_base64, or by url")
  if (content !== undefined) return { type, bytes: Buffer.from(content) }
  if (content_base64 !== undefined) return { type, bytes: Buffer.from(content_base64, "base64") }
  if (upload_id !== undefined) return { type, upload: upload_id }
  return url === undefined ? undefined : { type, url }
}

export function refused(path: string, message: string): AppError {
  return new AppError("invalid_argument", `${path}: ${message}.`, { reason: "knowledge_content_refused", fields: [{ path, message }] })
}

/** An item that examples act on. */
export const madeItem = {
  item: {
    operation: "knowledge.create",
    input: { title: "Refunds", category: "policies", content: "# Refunds\n\nWe refund within 30 days." },
  },
}

export const ItemId = Uuid.describe("The item's id.")
