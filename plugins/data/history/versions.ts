// Versions of an item: the author and the earlier values of each change. Each version can be restored.
import { z } from "zod"
import { AnyJson, AppError, type Caller, defineList, defineOperation, resultOf, Store, Timestamp, Uuid } from "#core"
import { authorise, Declarations, type DeclaredResource, isAuthorised, Resources, Services, VersionCollection } from "#core/engine"

/** Resources with a readable past. */
export const Actor = z.object({
  credential_id: z.string().describe("Key or token of the call."),
  user_id: Uuid.nullable().describe("User of the key; null for a service principal."),
})

export const ResourceName = z.string().min(1).max(100).describe("Name of the resource in the singular, such as `persona`.")

/** Names of the readable resources, or of one wanted resource. */
export function readableNames(declarations: Declarations, caller: Caller, area?: string): string[] {
  const all = declarations
    .items(Resources)
    .filter(({ identity, get }) => isAuthorised(get.access, caller) && (area ?? identity.name) === identity.name)
  return all.map(({ identity }) => identity.name)
}

/** The resource of a stored record. Returns undefined if the caller may not read it. */
export function readableResource(declarations: Declarations, caller: Caller, name = ""): DeclaredResource | undefined {
  const resource = declarations.get(Resources, name)
  return resource && isAuthorised(resource.get.access, caller) ? resource : undefined
}

const path = "/v1/versions"
const changed = {
  persona: "personas.create",
  changed: { operation: "personas.update", input: { slug: resultOf("persona.slug"), name: "Calm founder" } },
}
const thatPersona = { resource: "persona", item_id: resultOf("persona.id") }

const Version = z
  .object({
    id: Uuid,
    resource: ResourceName,
    item_id: Uuid,
    revision: z.int(),
    fields: z.record(z.string(), AnyJson).describe("The fields of the item from this revision on."),
    before: z.record(z.string(), AnyJson).nullable().describe("Earlier values of the changed fields; null for a new or restored item."),
    by: Actor,
    at: Timestamp,
  })
  .meta({ id: "Version" })

export const listVersions = defineList({
  name: "versions.list",
  summary: "List the versions of an item, newest first.",
  description: "Versions stay for a year, also after a deletion. They have no secrets, and only fields of callers.",
  path,
  isOfItem: true,
  access: { scope: "history:read", role: "guest" },
  columns: ["revision", "at", "by.user_id", "by.credential_id"],
  input: { resource: ResourceName, item_id: Uuid.describe("Id of the item.") },
  examples: [{ given: changed, input: thatPersona }],
  inject: { store: Store, declarations: Declarations },
  collection: VersionCollection,
  async where({ resource, item_id }, { organization, caller, deps }) {
    const filter = { resource: { $in: readableNames(deps.declarations, caller, resource) }, item_id }
    if (await deps.store.open(VersionCollection, organization).first(filter)) return filter
    const message = `The organization has no versions of a ${resource} ${item_id}. Give the id of an item.`
    throw new AppError("not_found", message, { reason: "version_not_found" })
  },
  items: { versions: Version },
  view: ({ organization_id: _organization, expires_at: _expires, ...resource }) => resource,
})

export const restoreVersion = defineOperation({
  name: "versions.restore",
  summary: "Give an item the fields of an earlier version.",
  description: "Needs the rights of a change of the item. The result is a new version.",
  http: { method: "POST", path: `${path}/{id}/restore` },
  access: { scope: "history:write", role: "member" },
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({ id: Uuid.describe("Id of the version.") }),
  output: z.object({ resource: ResourceName, item_id: Uuid, revision: z.int() }),
  errors: ["invalid_argument", "not_found", "already_exists", "failed_precondition", "permission_denied", "aborted"],
  examples: [
    {
      given: { ...changed, versions: { operation: "versions.list", input: thatPersona } },
      input: { id: resultOf("versions.versions.1.id") },
    },
  ],
  inject: { store: Store, declarations: Declarations, services: Services },
  async handle({ input: { id }, caller, deps: { store, declarations, services }, work }) {
    const organization = caller.organization.id
    const version = await store.open(VersionCollection, organization).get(id)
    const resource = readableResource(declarations, caller, version?.resource)
    if (!version || !resource) {
      throw new AppError("not_found", `The organization has no version ${id}; GET ${path} lists those of an item.`, {
        reason: "version_not_found",
      })
    }
    authorise(resource.update.access, caller, `A change of a ${version.resource}`)
    const deps = services.of(resource.update.inject)
    const item = await resource.changes.restoreVersion({ organization, caller, deps, work }, version)
    return { resource: version.resource, item_id: item.id, revision: item.revision }
  },
})
