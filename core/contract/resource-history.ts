// The stored history of items: a version for each revision, and deleted items.
import { type CollectionSpec, type Document, defineCollection, type Json, type SealedPlace } from "./collection.ts"

/** The caller of a change. */
export interface Actor {
  credential_id: string
  user_id: string | null
}

/** A version of an item: its fields from one revision on. */
export interface StoredVersion extends Document {
  /** Name of the resource, such as `persona`. */
  resource: string
  item_id: string
  revision: number
  /** Writable fields, with their values from this revision on. */
  fields: Record<string, Json>
  /** Earlier values of the changed fields. Null for a new or restored item. */
  before: Record<string, Json> | null
  by: Actor
  at: string
  expires_at: string
}

/** Versions of items, stored for a year. */
export const VersionCollection = defineCollection<StoredVersion>()({
  name: "resource_versions",
  scope: "organization",
  times: ["at", "expires_at"],
  indexes: [{ fields: ["resource", "item_id", "-id"] }],
  expires: "expires_at",
  audit: "none",
})

/** A deleted item. Its id is the id of the item. */
export interface StoredTrash extends Document {
  resource: string
  /** Slug, key or id of the item. */
  key: string
  document: Record<string, Json>
  /** Id of the container of the same deletion; empty: the item was deleted by itself. */
  deleted_with: string
  deleted_by: Actor
  deleted_at: string
  expires_at: string
}

/** Secrets of deleted items, by resource. */
const sealedOf = new Map<string, (document: Document) => readonly SealedPlace[]>()

/** Deleted items, stored for 30 days. */
export const TrashCollection = defineCollection<StoredTrash>()({
  name: "resource_trash",
  scope: "organization",
  times: ["deleted_at", "expires_at"],
  indexes: [{ fields: ["deleted_with", "-deleted_at", "-id"] }],
  expires: "expires_at",
  audit: "size",
  sealed: ({ id, resource, document }) =>
    (sealedOf.get(resource)?.({ ...document, id }) ?? []).map((place) => ({ ...place, path: `document.${place.path}` })),
})

/** Registers the secrets of deleted items, so a change of the master key finds them. */
export function rememberSealed(resource: string, { sealed }: Pick<CollectionSpec, "sealed">): void {
  if (sealed) sealedOf.set(resource, sealed)
}
