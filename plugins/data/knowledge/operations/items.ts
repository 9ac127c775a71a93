// Lists knowledge items and their versions, and reads a version.
import { z } from "zod"
import { AppError, defineList, defineOperation, type Filter, resultOf, Timestamp } from "#core"
import { contentStates, itemTypes, KnowledgeToken, type StoredVersion, VersionCollection } from "../collections.ts"
import { createdItem, ItemCollection, KnowledgeResource } from "../item.ts"

const reading = { scope: "knowledge:read", role: "member" } as const
const thatItem = { id: resultOf("item.id") }

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

const KnowledgeVersion = z.object(versionFields).meta({ id: "KnowledgeVersion" })
const KnowledgeVersionText = z.object({ ...versionFields, content: z.string() }).meta({ id: "KnowledgeVersionText" })

function shownVersion({ version, type, source_url, bytes, created_at, ...rest }: StoredVersion): z.input<typeof KnowledgeVersion> {
  const { content_state, content_reason, content_message } = rest
  return { version, type, content_state, content_reason, content_message, source_url, bytes, created_at }
}

export const listItems = defineList({
  name: "knowledge.list",
  summary: "List the organization's knowledge items, newest first.",
  path: "/v1/knowledge",
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
  items: { items: KnowledgeResource.answer },
  view: KnowledgeResource.show,
})

/** Fits the filter to the indexes. Index fields between a filtered field and the sort order are listed with all their values. */
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

export const listVersions = defineList({
  name: "knowledge.list_versions",
  summary: "List the versions of a knowledge item, newest first.",
  path: "/v1/knowledge/{id}/versions",
  access: reading,
  columns: ["version", "type", "content_state", "content_reason", "created_at"],
  input: { id: KnowledgeResource.ref },
  examples: [{ given: createdItem, input: thatItem }],
  inject: { knowledge: KnowledgeToken },
  collection: VersionCollection,
  where: async ({ id }, { organization, deps }) => ({ item_id: (await deps.knowledge.require(organization, id)).id }),
  sort: { version: -1 },
  items: { versions: KnowledgeVersion },
  view: shownVersion,
})

export const getVersion = defineOperation({
  name: "knowledge.get_version",
  summary: "Read a version of a knowledge item with its text.",
  http: { method: "GET", path: "/v1/knowledge/{id}/versions/{version}" },
  access: reading,
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({ id: KnowledgeResource.ref, version: z.coerce.number<number>().int().min(1).describe("Its number.") }),
  output: KnowledgeVersionText,
  errors: ["not_found"],
  examples: [{ given: createdItem, input: { ...thatItem, version: 1 } }],
  inject: { knowledge: KnowledgeToken },
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
