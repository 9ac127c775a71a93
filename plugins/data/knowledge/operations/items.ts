// Making, listing, reading, changing and deleting knowledge items, and reading their versions.
import { z } from "zod"
import {
  AppError,
  defineList,
  defineOperation,
  type Filter,
  OutgoingHttp,
  omitReadOnly,
  readOnlyInput,
  requireRevision,
  resultOf,
  Uuid,
} from "#core"
import { contentStates, ItemCollection, itemTypes, VersionCollection } from "../collections.ts"
import { type ItemFields, Knowledge } from "../knowledge.ts"
import {
  contentOf,
  ItemId,
  itemFields,
  KnowledgeItem,
  KnowledgeVersion,
  KnowledgeVersionText,
  madeItem,
  readOnlyItemFields,
  refused,
  shownItem,
  shownVersion,
} from "./resource.ts"

const path = "/v1/knowledge"
const reading = { scope: "knowledge:read", role: "member" } as const
const writing = { scope: "knowledge:write", role: "member" } as const
const thatItem = { id: resultOf("item.id") }

export const createItem = defineOperation({
  name: "knowledge.create",
  summary: "Make a knowledge item of a document: Markdown, plain text, HTML or a PDF, given here or by URL.",
  description: "It is `pending` until it is read in, and found by searches soon after.",
  auditSize: ["content", "content_base64", "title", "description"],
  http: { method: "POST", path },
  access: writing,
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: "by_job" },
  input: z.strictObject({
    title: itemFields.title.default(""),
    description: itemFields.description.default(""),
    category: itemFields.category.default(""),
    type: itemFields.type.default("markdown"),
    content: itemFields.content.optional(),
    content_base64: itemFields.content_base64.optional(),
    upload_id: itemFields.upload_id.optional(),
    url: itemFields.url.optional(),
  }),
  output: KnowledgeItem,
  errors: ["invalid_argument", "not_found", "failed_precondition", "aborted"],
  examples: [{ input: madeItem.item.input }],
  inject: { knowledge: Knowledge, http: OutgoingHttp },
  async handle({ input: { title, description, category, ...given }, caller, deps, work }) {
    const content = contentOf(given)
    if (!content) throw refused("content", "give one: content, content_base64, upload_id or url")
    if ("url" in content) deps.http.check(content.url)
    return shownItem(await deps.knowledge.create(work, caller.organization.id, { title, description, category }, content))
  },
  onConflict: async ({ error }) => error,
})

export const listItems = defineList({
  name: "knowledge.list",
  summary: "List the organization's knowledge items, newest first.",
  path,
  access: reading,
  columns: ["title", "category", "type", "content_state", "id"],
  input: {
    category: z.string().max(100).default("").describe("Only those of this category."),
    type: z
      .enum(["", ...itemTypes])
      .default("")
      .describe("Only those of this type."),
    content_state: z
      .enum(["", ...contentStates])
      .default("")
      .describe("Only those in this state."),
  },
  collection: ItemCollection,
  where: filterOf,
  items: { items: KnowledgeItem },
  view: (item) => shownItem(item),
})

/** As the indexes have the fields: those between one that is asked for and the order are named with all their values. */
function filterOf({
  category = "",
  type = "",
  content_state = "",
}: Record<"category" | "type" | "content_state", string | undefined>): Filter {
  if (category === "" && type === "") return content_state === "" ? {} : { content_state }
  const states = content_state === "" ? { $in: [...contentStates] } : content_state
  if (category === "") return { type, content_state: states }
  if (type === "") return content_state === "" ? { category } : { category, type: { $in: [...itemTypes] }, content_state }
  return { category, type, content_state: states }
}

export const getItem = defineOperation({
  name: "knowledge.get",
  summary: "Read a knowledge item with its whole text.",
  http: { method: "GET", path: `${path}/{id}` },
  access: reading,
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({ id: ItemId }),
  output: KnowledgeItem,
  errors: ["not_found"],
  examples: [{ given: madeItem, input: thatItem }],
  inject: { knowledge: Knowledge },
  async handle({ input, caller, deps }) {
    const organization = caller.organization.id
    const item = await deps.knowledge.require(organization, input.id)
    return shownItem(item, await deps.knowledge.text(organization, item))
  },
})

export const updateItem = defineOperation({
  name: "knowledge.update",
  summary: "Change a knowledge item: only the fields that are given. A new content is a new version.",
  description: "Takes back what a read answered. The text that was read before stays until the new version is read in.",
  auditSize: ["content", "content_base64", "title", "description"],
  http: { method: "PATCH", path: `${path}/{id}` },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: true, openWorld: "by_job" },
  input: z.strictObject({
    id: ItemId,
    title: itemFields.title.optional(),
    description: itemFields.description.optional(),
    category: itemFields.category.optional(),
    type: itemFields.type.optional(),
    content: itemFields.content.optional(),
    content_base64: itemFields.content_base64.optional(),
    upload_id: itemFields.upload_id.optional(),
    url: itemFields.url.optional(),
    expected_revision: z.int().min(1).optional().describe("Revision that was read; another one refuses the change."),
    ...readOnlyInput(readOnlyItemFields),
  }),
  output: KnowledgeItem,
  errors: ["invalid_argument", "not_found", "failed_precondition", "aborted"],
  examples: [
    {
      given: madeItem,
      input: { ...thatItem, content: "# Refunds\n\nWe refund within 14 days.", expected_revision: resultOf("item.revision") },
    },
  ],
  inject: { knowledge: Knowledge, http: OutgoingHttp },
  async handle({ input: { id, expected_revision, ...fields }, caller, deps, work }) {
    const organization = caller.organization.id
    const item = await deps.knowledge.require(organization, id)
    requireRevision("knowledge item", item.revision, expected_revision)
    const text = await deps.knowledge.text(organization, item)
    const { type, content, content_base64, upload_id, url, ...rest } = omitReadOnly(fields, shownItem(item, text), readOnlyItemFields)
    const change = Object.entries(rest).filter(([name, value]) => value !== undefined && item[name as keyof ItemFields] !== value)
    const given = contentOf({ type: type ?? item.type, content_base64, upload_id, url, ...(content === text ? {} : { content }) })
    if (!given && type !== undefined && type !== item.type) throw refused("type", "goes with a new content; give that as well")
    if (given && "url" in given) deps.http.check(given.url)
    if (change.length === 0 && !given) return shownItem(item, text)
    const updated = await deps.knowledge.update(work, organization, item, Object.fromEntries(change) as Partial<ItemFields>, given)
    return shownItem(updated, text)
  },
  onConflict: async ({ error }) => error,
})

export const deleteItem = defineOperation({
  name: "knowledge.delete",
  summary: "Delete a knowledge item with its versions; searches do not find it from then on.",
  http: { method: "DELETE", path: `${path}/{id}` },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({ id: ItemId }),
  output: z.object({ id: Uuid, deleted: z.literal(true) }),
  errors: ["not_found", "aborted"],
  examples: [{ given: madeItem, input: thatItem }],
  inject: { knowledge: Knowledge },
  async handle({ input, caller, deps, work }) {
    const organization = caller.organization.id
    const item = await deps.knowledge.require(organization, input.id)
    await deps.knowledge.remove(work, organization, item)
    return { id: item.id, deleted: true as const }
  },
  onConflict: async ({ error }) => error,
})

export const listVersions = defineList({
  name: "knowledge.list_versions",
  summary: "List the versions of a knowledge item, newest first.",
  path: `${path}/{id}/versions`,
  access: reading,
  columns: ["version", "type", "content_state", "content_reason", "created_at"],
  input: { id: ItemId },
  examples: [{ given: madeItem, input: thatItem }],
  inject: { knowledge: Knowledge },
  collection: VersionCollection,
  where: async ({ id }, { organization, deps }) => ({ item_id: (await deps.knowledge.require(organization, id)).id }),
  sort: { version: -1 },
  items: { versions: KnowledgeVersion },
  view: shownVersion,
})

export const getVersion = defineOperation({
  name: "knowledge.get_version",
  summary: "Read a version of a knowledge item with its text.",
  http: { method: "GET", path: `${path}/{id}/versions/{version}` },
  access: reading,
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({ id: ItemId, version: z.coerce.number<number>().int().min(1).describe("Its number.") }),
  output: KnowledgeVersionText,
  errors: ["not_found"],
  examples: [{ given: madeItem, input: { ...thatItem, version: 1 } }],
  inject: { knowledge: Knowledge },
  async handle({ input: { id, version }, caller, deps }) {
    const organization = caller.organization.id
    const item = await deps.knowledge.require(organization, id)
    const found = await deps.knowledge.version(organization, item.id, version)
    if (found) return { ...shownVersion(found), content: found.text }
    throw new AppError("not_found", `The item "${item.title}" has no version ${version}, or it is not kept any more.`, {
      reason: "knowledge_version_not_found",
    })
  },
})
