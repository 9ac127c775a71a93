// Making, listing, reading and removing what the area sample_name keeps.
import { z } from "zod"
import { AppError, Clock, defineList, defineOperation, Ids, Name, resultOf, Store, Timestamp, timestamp, Uuid } from "#core"
import { Items, type StoredItem } from "./collection.ts"

const Item = z.object({ id: Uuid, name: z.string(), created_at: Timestamp })
const byId = { id: Uuid }
const madeItem = { given: { item: "sample_name.create" }, input: { id: resultOf("item.id") } }

export const create = defineOperation({
  name: "sample_name.create",
  summary: "Make one of the sample name.",
  http: { method: "POST", path: "/v1/sample-name" },
  access: { scope: "sample_name:write", role: "member" },
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: z.strictObject({ name: Name }),
  output: Item,
  errors: ["invalid_argument"],
  examples: [{ input: { name: "First" } }],
  inject: { clock: Clock, ids: Ids },
  handle({ input, caller, deps, work }) {
    const item: StoredItem = { id: deps.ids.uuid(), name: input.name, created_at: timestamp(deps.clock.now()) }
    work.in(Items, caller.organization.id).insert(item)
    return item
  },
})

export const list = defineList({
  name: "sample_name.list",
  summary: "List the organization's sample name, newest first.",
  path: "/v1/sample-name",
  access: { scope: "sample_name:read", role: "guest" },
  collection: Items,
  items: { sample_name: Item },
  view: shown,
})

export const get = defineOperation({
  name: "sample_name.get",
  summary: "Read one of the sample name.",
  http: { method: "GET", path: "/v1/sample-name/{id}" },
  access: { scope: "sample_name:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject(byId),
  output: Item,
  errors: ["not_found"],
  examples: [madeItem],
  inject: { store: Store },
  handle: async ({ input, caller, deps }) => shown(await required(deps.store, caller.organization.id, input.id)),
})

export const remove = defineOperation({
  name: "sample_name.remove",
  summary: "Remove one of the sample name.",
  http: { method: "DELETE", path: "/v1/sample-name/{id}" },
  access: { scope: "sample_name:write", role: "member" },
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject(byId),
  output: z.object({ id: Uuid, deleted: z.literal(true) }),
  errors: ["not_found"],
  examples: [madeItem],
  inject: { store: Store },
  async handle({ input, caller, deps, work }) {
    const organization = caller.organization.id
    const { id } = await required(deps.store, organization, input.id)
    work.in(Items, organization).remove(id, { optional: true })
    return { id, deleted: true as const }
  },
})

/** Another organization's is as if it were not there. */
async function required(store: Store, organization: string, id: string): Promise<StoredItem> {
  const item = await store.open(Items, organization).get(id)
  if (item === undefined) {
    throw new AppError("not_found", `No item of the sample name has the id "${id}".`, { reason: "sample_name_not_found" })
  }
  return item
}

function shown({ id, name, created_at }: StoredItem): z.input<typeof Item> {
  return { id, name, created_at }
}
