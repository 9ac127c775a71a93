// Deleted items. A restoration includes the items inside.
import { z } from "zod"
import {
  AnyJson,
  AppError,
  type Caller,
  Clock,
  defineList,
  defineOperation,
  resultOf,
  Store,
  Timestamp,
  type UnitOfWork,
  Uuid,
} from "#core"
import { authorise, Declarations, Resources, Services, type StoredTrash, TrashCollection } from "#core/engine"
import { Actor, ResourceName, readableNames, readableResource } from "./versions.ts"

const path = "/v1/trash"
const tokens = { store: Store, clock: Clock, declarations: Declarations }
const byId = { id: Uuid.describe("Id of the deleted item.") }
const deleted = {
  given: {
    persona: "personas.create",
    deleted: { operation: "personas.delete", input: { slug: resultOf("persona.slug") } },
  },
}

const TrashItem = z
  .object({
    id: Uuid.describe("Id of the deleted item."),
    resource: ResourceName,
    key: z.string().describe("Slug, key or id of the item."),
    deleted_by: Actor,
    deleted_at: Timestamp,
    expires_at: Timestamp.describe("Until then the item can be restored: 30 days."),
  })
  .meta({ id: "TrashItem" })

export const listTrash = defineList({
  name: "trash.list",
  summary: "List deleted items, newest deletion first.",
  description: "The list has items of readable resources. Items inside a deleted item come back with it, for example the cases of a suite.",
  path,
  access: { scope: "history:read", role: "guest" },
  columns: ["resource", "key", "deleted_at", "expires_at"],
  input: { resource: ResourceName.optional() },
  examples: [{ ...deleted, input: { resource: "persona" } }],
  inject: { declarations: Declarations },
  collection: TrashCollection,
  where: ({ resource }, { caller, deps }) => ({
    deleted_with: "",
    resource: { $in: readableNames(deps.declarations, caller, resource) },
  }),
  sort: { deleted_at: -1 },
  items: { trash: TrashItem },
  view: toResource,
})

export const getTrash = defineOperation({
  name: "trash.get",
  summary: "Read a deleted item.",
  http: { method: "GET", path: `${path}/{id}` },
  access: { scope: "history:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject(byId),
  output: TrashItem.extend({ item: z.record(z.string(), AnyJson).describe("The item, as reads showed it.") }),
  errors: ["not_found"],
  examples: [{ ...deleted, input: { id: resultOf("deleted.id") } }],
  inject: tokens,
  async handle({ input: { id }, caller, deps }) {
    const { resource, trashed } = await requireTrashed(deps, caller, id)
    return { ...toResource(trashed), item: resource.show({ ...trashed.document, id, organization_id: caller.organization.id }) as Fields }
  },
})

export const restoreFromTrash = defineOperation({
  name: "trash.restore",
  summary: "Restore a deleted item, with the items inside it.",
  description:
    "Needs the rights of a creation and of a deletion, and is checked as a creation. The item has its id, its key and a new revision.",
  http: { method: "POST", path: `${path}/{id}/restore` },
  access: { scope: "history:write", role: "member" },
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: z.strictObject(byId),
  output: z.object({ id: Uuid, resource: ResourceName, restored: z.literal(true) }),
  errors: ["invalid_argument", "not_found", "already_exists", "failed_precondition", "permission_denied"],
  examples: [{ ...deleted, input: { id: resultOf("deleted.id") } }],
  inject: { ...tokens, services: Services },
  async handle({ input: { id }, caller, deps, work }) {
    const { trashed } = await requireTrashed(deps, caller, id)
    const container = await restore(deps, work, caller, trashed)
    for await (const inside of deps.store.open(TrashCollection, caller.organization.id).stream({ deleted_with: id }))
      await restore(deps, work, caller, inside, container)
    return { id, resource: trashed.resource, restored: true as const }
  },
  onConflict: async ({ error }) => error,
})

async function restore(
  { declarations, services }: { readonly declarations: Declarations; readonly services: Services },
  work: UnitOfWork,
  caller: Caller,
  item: StoredTrash,
  container?: { readonly id: string },
): Promise<{ readonly id: string }> {
  const resource = declarations.get(Resources, item.resource)
  if (!resource?.delete) throw notFound(item.id)
  for (const { access } of [resource.create, resource.delete]) authorise(access, caller, `The restoration of a ${item.resource}`)
  const deps = services.of(resource.create.inject)
  return await resource.changes.restore({ organization: caller.organization.id, caller, deps, work }, item, container)
}

interface Reads {
  readonly store: Store
  readonly clock: Clock
  readonly declarations: Declarations
}

type Fields = StoredTrash["document"]

function toResource({ organization_id: _organization, document: _document, deleted_with: _container, ...trashed }: StoredTrash) {
  return trashed
}

/** Throws `not_found` for an unreadable item, and after 30 days. */
async function requireTrashed({ store, clock, declarations }: Reads, caller: Caller, id: string) {
  const trashed = await store.open(TrashCollection, caller.organization.id).get(id)
  const resource = readableResource(declarations, caller, trashed?.resource)
  if (trashed && resource && Date.parse(trashed.expires_at) > clock.now()) return { trashed, resource }
  throw notFound(id)
}

function notFound(id: string): AppError {
  return new AppError("not_found", `The trash has no item ${id}; GET ${path} lists them.`, { reason: "trash_not_found" })
}
