// The knowledge item resource: its fields, and the operations that create, read, change and delete items.
import { z } from "zod"
import { AppError, byId, defineResource, type ItemOf, OutgoingHttp, Uuid } from "#core"
import { type ContentState, contentStates, type ItemType, itemTypes, KnowledgeToken } from "./collections.ts"
import type { Content } from "./knowledge.ts"

const maxUrl = 2_048

/** Internal fields, absent from responses. */
interface Hidden {
  content?: never
  /** True if the caller set the title. */
  title_given: boolean
  /** The beginning of the latest text. */
  excerpt: string
  /** Revision of the index with the item's valid entry. */
  entry: number
  /** True if the index has an earlier state of the item. */
  index_due: boolean
  /** True if the item has no vector in the index, because the model failed. */
  vector_due: boolean
}

/** Fields of the service. */
export interface ItemState extends Hidden {
  content_state: ContentState
  content_reason: string
  content_message: string
  content_version: number
  version: number
  characters: number
  source_url: string
}

const creation = { title: "Refunds", category: "policies", content: "# Refunds\n\nWe refund within 30 days." }
const audited = { auditSize: ["content", "content_base64", "title", "description"], hints: { openWorld: "by_job" } } as const

export const KnowledgeResource = defineResource<Hidden>()({
  name: "knowledge",
  plural: "items",
  word: "knowledge item",
  title: "KnowledgeItem",
  path: "/v1/knowledge",
  // Versions have their own collection, and a deletion removes all texts at once.
  history: false,
  collection: {
    name: "knowledge_items",
    // The audit log stores only sizes, so it has no copies of deleted texts.
    audit: "size",
    indexes: [
      { fields: ["category", "id"] },
      { fields: ["category", "type", "content_state", "id"] },
      { fields: ["type", "content_state", "id"] },
      { fields: ["content_state", "id"] },
      { fields: ["index_due", "id"] },
      { fields: ["vector_due", "id"] },
    ],
  },
  access: { read: { scope: "knowledge:read", role: "member" }, write: { scope: "knowledge:write", role: "member" } },
  key: byId,
  fields: {
    title: z.string().trim().max(300).describe("Empty: what the document says of itself, or its first line."),
    description: z.string().trim().max(4_000),
    category: z.string().trim().max(100).describe("A name of your own to filter by."),
    type: z.enum(itemTypes).describe("Of a URL it is what its server says; `markdown` is told from `text` by it."),
  },
  defaults: { title: "", description: "", category: "", type: "markdown" },
  inputs: {
    content: z.string().max(1_000_000).optional().describe("The document as text: Markdown, plain text or HTML."),
    content_base64: z
      .base64()
      .max(1_000_000)
      .optional()
      .describe("The document's bytes, for a PDF; larger ones are given by upload or URL."),
    upload_id: Uuid.optional().describe("Of POST /v1/knowledge-uploads, once the document was sent to its link."),
    url: z
      .string()
      .max(maxUrl)
      .refine((text) => /^https?:\/\//i.test(text) && URL.canParse(text), "an absolute http(s) URL")
      .optional()
      .describe("Where the document is; fetched once."),
  },
  shown: {
    content: z.string().describe("The text that was read; in lists and searches its first 2,000 characters."),
    content_state: z.enum(contentStates).describe("Of the latest version: `pending` while it is read in; `failed`: see `content_reason`."),
    content_reason: z.string().describe("A stable word for why the latest version could not be read; empty otherwise."),
    content_message: z.string(),
    content_version: z.int().describe("The version whose text this is; 0: none was read."),
    version: z.int().describe("The latest version."),
    characters: z.int().describe("Length of the text."),
    source_url: z.string().describe("Where the latest version is from; empty: it was uploaded."),
  },
  hidden: ["title_given", "excerpt", "entry", "index_due", "vector_due"],
  unstored: ["content"],
  present: ({ excerpt }) => ({ content: excerpt }),
  async complete(item, { caller, deps }): Promise<{ content: string }> {
    return { content: await deps.knowledge.text(caller.organization.id, item) }
  },
  columns: ["title", "category", "type", "content_state", "id"],
  examples: [{ input: creation }],
  change: { title: "Refunds of customers" },
  verbs: {
    create: {
      ...audited,
      name: "knowledge.create",
      summary: "Make a knowledge item of a document: Markdown, plain text, HTML or a PDF, given here or by URL.",
      description: "It is `pending` until it is read in, and found by searches soon after.",
      errors: ["not_found", "failed_precondition", "aborted"],
    },
    get: { name: "knowledge.get", summary: "Read a knowledge item with its whole text." },
    update: {
      ...audited,
      name: "knowledge.update",
      summary: "Change a knowledge item: only the fields that are given. A new content is a new version.",
      description: "Takes back what a read answered. The text that was read before stays until the new version is read in.",
      errors: ["failed_precondition"],
      isRepeated: true,
    },
    delete: {
      name: "knowledge.delete",
      summary: "Delete a knowledge item with its versions; searches do not find it from then on.",
    },
  },
  omit: ["list"],
  inject: { knowledge: KnowledgeToken, http: OutgoingHttp },
  async start({ id, title, ...given }, { work, organization, deps }): Promise<ItemState> {
    const content = contentOf(given)
    if (!content) throw refused("content", "give one: content, content_base64, upload_id or url")
    if ("url" in content) deps.http.check(content.url)
    return deps.knowledge.create(work, organization, { id, title }, content)
  },
  async alongside(change, item, { inputs, work, organization, deps }): Promise<Partial<ItemState>> {
    const content = contentOf({ type: change.type ?? item.type, ...inputs })
    if (!content && change.type !== undefined) throw refused("type", "goes with a new content; give that as well")
    if (content && "url" in content) deps.http.check(content.url)
    const { type: _type, ...fields } = change
    return deps.knowledge.update(work, organization, item, fields, content)
  },
  deleted: (item, { work, organization, deps }): Promise<void> => deps.knowledge.remove(work, organization, item),
})

export const ItemCollection = KnowledgeResource.collection

export type StoredItem = ItemOf<typeof KnowledgeResource>

/** An item for examples of other operations. */
export const createdItem = { item: { operation: "knowledge.create", input: creation } }

interface GivenContent {
  readonly type?: ItemType | undefined
  readonly content?: string | undefined
  readonly content_base64?: string | undefined
  readonly upload_id?: string | undefined
  readonly url?: string | undefined
}

/** Returns undefined without content. Throws `invalid_argument` for several contents, and for content in a form of another type. */
function contentOf({ type = "markdown", content, content_base64, upload_id, url }: GivenContent): Content | undefined {
  const given = Object.entries({ content, content_base64, upload_id, url }).filter(([, value]) => value !== undefined)
  if (given.length > 1) throw refused(given[1]?.[0] ?? "content", "give the content in one way: content, content_base64, upload_id or url")
  if (content !== undefined && type === "pdf") throw refused("content", "a PDF is given as content_base64, or by url")
  if (content !== undefined) return { type, bytes: Buffer.from(content) }
  if (content_base64 !== undefined) return { type, bytes: Buffer.from(content_base64, "base64") }
  if (upload_id !== undefined) return { type, upload: upload_id }
  return url === undefined ? undefined : { type, url }
}

function refused(path: string, message: string): AppError {
  return new AppError("invalid_argument", `${path}: ${message}.`, { reason: "knowledge_content_refused", fields: [{ path, message }] })
}
