// Stages changes of items with their consequences: new items, changed fields, deletions and restorations.
import { isDeepStrictEqual } from "node:util"
import type { CollectionSpec } from "../contract/collection.ts"
import { slugTaken } from "../contract/fields.ts"
import { type StoredTrash, type StoredVersion, TrashCollection } from "../contract/resource-history.ts"
import { stageRevision } from "../contract/revision.ts"
import { timestamp } from "../kernel/clock.ts"
import type { FormerSlugs } from "./former-slugs.ts"
import { stageTrash, stageVersion } from "./history.ts"
import { type Items, ofOrganization } from "./items.ts"
import { keyOfNew } from "./keys.ts"
import type { AnyResourceSpec, Container, Fields, HookArgs, Item } from "./spec.ts"

type Args = HookArgs<Record<never, never>>

interface Parts {
  readonly spec: AnyResourceSpec
  readonly word: string
  readonly collection: CollectionSpec<Item, "organization">
  readonly items: Items<Item>
  readonly former: FormerSlugs | undefined
}

export class ItemChanges {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Stages a new item. `kept` has fields of the service. */
  async add(args: Args, input: Fields, kept?: Fields): Promise<Item> {
    const { key, within, fields, defaults, later = [], check, start, reserved } = this.#parts.spec
    const { store, clock, ids } = args.deps
    const given = Object.fromEntries(Object.keys(fields).map((field) => [field, later.includes(field) ? defaults[field] : input[field]]))
    const refused = reserved?.(String(input[key.field] ?? ""), args)
    if (refused) throw refused
    const isTaken = async (text: string) =>
      reserved?.(text, args) !== undefined || (await this.#parts.items.find(store, args.organization, text, args.container)) !== undefined
    const keyed = await keyOfNew(key, input, this.#parts.word, isTaken)
    await check?.(given, { ...args, before: undefined, change: given })
    const id = (key.idOf ?? key.idOfNew)?.(args.organization, String(keyed[key.field])) ?? ids.uuid()
    const at = timestamp(clock.now())
    const contained = within ? { [within.column]: args.container.id } : {}
    const started = await start?.({ ...input, ...given, id }, args)
    const item: Item = { ...given, ...started, ...kept, ...contained, ...keyed, id, revision: 1, created_at: at, updated_at: at }
    return this.#insert(args, item)
  }

  async #insert(args: Args, item: Item): Promise<Item> {
    args.work.in(this.#parts.collection, args.organization).insert(item)
    this.#parts.former?.take(args.work, args.organization, String(item["slug"]), item.id)
    stageVersion(args, this.#parts.spec, item)
    await this.#parts.spec.created?.(item, args)
    return { ...item, organization_id: args.organization }
  }

  /** Stages a change of an item. */
  async update(args: Args, before: Item, change: Fields, inputs: Fields = {}): Promise<Item> {
    const { check, alongside, updated } = this.#parts.spec
    await check?.({ ...before, ...change }, { ...args, before, change })
    const changed = { ...change, ...(await alongside?.(change, before, { ...args, inputs })) }
    const item = stageRevision(args.work.in(this.#parts.collection, args.organization), before, changed as never, args.deps.clock.now())
    stageVersion(args, this.#parts.spec, item, before)
    await updated?.(item, before, args)
    return item
  }

  /** Stages the new slug, and returns it as a change. A former slug in the path renames nothing. */
  async rename({ deps, organization, work }: Args, before: Item, ref: string, slug: string | undefined): Promise<{ slug?: string }> {
    const { spec, word, former } = this.#parts
    if (!former || slug === undefined || slug === ref || slug === before["slug"]) return {}
    const owner = await former.ownerOf(deps.store, organization, slug)
    if (owner !== undefined && owner !== before.id)
      throw slugTaken(`A ${word} has or had the slug "${slug}"; take another.`, spec.key.former?.rename)
    if (owner === undefined) former.take(work, organization, slug, before.id)
    return { slug }
  }

  /** Stages a deletion. `deletedWith` is the id of the deleted container. */
  async remove(args: Args, item: Item, deletedWith?: string): Promise<void> {
    args.work.in(this.#parts.collection, args.organization).remove(item.id, { where: { revision: item.revision } })
    stageTrash(args, this.#parts.spec, item, deletedWith)
    await this.#parts.former?.release(args.deps.store, args.work, args.organization, item.id)
    await this.#parts.spec.deleted?.(item, args)
  }

  /** Stages a deleted item as a new one, with the checks of a creation. Throws `already_exists` if another item has its key. */
  async restore(given: Omit<Args, "container">, { id, key, document }: StoredTrash, container?: Container): Promise<Item> {
    const { spec, word, items } = this.#parts
    const { deps, organization, work } = given
    const before = { ...document, id } as unknown as Item
    const args = { ...given, container: container ?? (await containerOf(spec, deps, organization, before[spec.within?.column ?? ""])) }
    const { field } = spec.key
    if (field !== "id" && (await items.find(deps.store, organization, key, args.container)))
      throw spec.key.taken?.(key) ?? slugTaken(`Another ${word} has the ${field} "${key}" now; rename or delete it.`, field)
    await spec.check?.(before, { ...args, before: undefined, change: before })
    work.in(TrashCollection, organization).remove(id)
    const restored = await spec.restored?.(before, args)
    return this.#insert(args, { ...before, ...restored, revision: before.revision + 1, updated_at: timestamp(deps.clock.now()) })
  }

  /** Stages the fields of an earlier version. */
  async restoreVersion(given: Omit<Args, "container">, { item_id, fields }: StoredVersion): Promise<Item> {
    const { spec, collection, items } = this.#parts
    const { deps, organization } = given
    const stored = await deps.store.open(collection, organization).get(item_id)
    const container = stored ? await containerOf(spec, deps, organization, stored[spec.within?.column ?? ""]) : ofOrganization
    const before = await items.require(deps.store, organization, item_id, container)
    const change = changedFields(fields, before)
    return Object.keys(change).length === 0 ? before : this.update({ ...given, container }, before, change)
  }
}

/** The container of an item, or of a call on items. Throws `not_found`. */
export async function containerOf({ within }: AnyResourceSpec, deps: unknown, organization: string, ref: unknown): Promise<Container> {
  return within ? await within.require(deps as never, organization, String(ref)) : ofOrganization
}

/** The given fields with values other than those of the item. A version has null for an absent field. */
export function changedFields(given: Readonly<Fields>, item: Readonly<Fields>): Fields {
  const differs = ([name, value]: [string, unknown]) => value !== undefined && !isDeepStrictEqual(value, item[name] ?? null)
  return Object.fromEntries(Object.entries(given).filter(differs))
}
