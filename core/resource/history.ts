// Stages the past of items in the commit of the change itself: a version of each revision, and deleted items.
import type { Json } from "../contract/collection.ts"
import { type Actor, TrashCollection, VersionCollection } from "../contract/resource-history.ts"
import type { Changes } from "../contract/store.ts"
import { timestamp } from "../kernel/clock.ts"
import type { AnyResourceSpec, HookArgs, Item } from "./spec.ts"

const dayMs = 86_400_000
const trashDays = 30
const versionDays = 365

type Args = HookArgs<Record<never, never>>

/** Stages the version of a new revision. */
export function stageVersion(args: Args, { name, fields, fixed, history }: AnyResourceSpec, item: Item, before?: Item): void {
  if (history === false) return
  const now = args.deps.clock.now()
  const names = Object.keys(fields).filter((field) => !fixed?.includes(field))
  const changed = names.filter((field) => item[field] !== before?.[field])
  args.work.in(VersionCollection, args.organization).insert({
    id: args.deps.ids.uuid(),
    resource: name,
    item_id: item.id,
    revision: item.revision,
    fields: pick(item, names),
    before: before === undefined ? null : pick(before, changed),
    by: actorOf(args),
    at: timestamp(now),
    expires_at: timestamp(now + versionDays * dayMs),
  })
}

/** Stages a deleted item for the trash. */
export function stageTrash(args: Args, { name, key, history }: AnyResourceSpec, item: Item, deletedWith = ""): void {
  if (history === false) return
  const now = args.deps.clock.now()
  const { id, organization_id: _organization, ...document } = item
  const trashed: Changes = {
    resource: name,
    key: String(item[key.field]),
    document: document as Record<string, Json>,
    deleted_with: deletedWith,
    deleted_by: { ...actorOf(args) },
    deleted_at: timestamp(now),
    expires_at: timestamp(now + trashDays * dayMs),
  }
  // An item whose id follows from its name may be in the trash already.
  args.work.in(TrashCollection, args.organization).update(id, { $set: trashed }, { upsert: true })
}

function actorOf({ caller: { credential, user } }: Args): Actor {
  return { credential_id: credential.id, user_id: user?.id ?? null }
}

function pick(from: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, Json> {
  return Object.fromEntries(names.map((name) => [name, (from[name] ?? null) as Json]))
}
