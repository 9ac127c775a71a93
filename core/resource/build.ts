// Makes what a resource declares: its collection, its operations, and how answers show an item.
import { isDeepStrictEqual } from "node:util"
import { z } from "zod"
import { type CollectionSpec, defineCollection } from "../contract/collection.ts"
import { Slug, slugTaken, Timestamp, Uuid } from "../contract/fields.ts"
import { defineList } from "../contract/list.ts"
import { type AnyOperation, defineOperation } from "../contract/operation.ts"
import { omitReadOnly, readOnlyInput } from "../contract/read-only.ts"
import { rememberSealed, type StoredTrash, type StoredVersion, TrashCollection } from "../contract/resource-history.ts"
import { requireRevision, stageRevision } from "../contract/revision.ts"
import { Store } from "../contract/store.ts"
import { Clock, timestamp } from "../kernel/clock.ts"
import type { AppError, ErrorCode } from "../kernel/errors.ts"
import { Ids } from "../kernel/ids.ts"
import { FormerSlugs } from "./former-slugs.ts"
import { stageTrash, stageVersion } from "./history.ts"
import { Items, ofOrganization } from "./items.ts"
import { keyOfNew, pathField } from "./keys.ts"
import { shownShape } from "./shown.ts"
import type { AnyResourceSpec, Container, HookArgs, Kept, Shape, Verb } from "./spec.ts"
import { examplesOf, operationName, reasonOf, summaryOf } from "./texts.ts"

type Fields = Record<string, unknown>
type Item = Kept & Fields
type Args = HookArgs<Record<never, never>>
type Call = Pick<Args, "caller" | "deps" | "work"> & { readonly input: Fields }

const readOnly = ["id", "revision", "created_at", "updated_at"]

export class ResourceBuilder {
  readonly #spec: AnyResourceSpec
  readonly #named: { readonly name: string; readonly plural: string; readonly word: string; readonly area: string | undefined }
  readonly collection: CollectionSpec<Item, "organization">
  readonly items: Items<Item>
  readonly former: FormerSlugs | undefined
  readonly answer: z.ZodObject
  readonly #ofContainer: Record<string, z.ZodType>
  readonly #one: Record<string, z.ZodType>

  constructor(spec: AnyResourceSpec) {
    const { name, key, within } = spec
    const { plural, word = name.replaceAll("_", " "), area } = spec
    this.#spec = spec
    rememberSealed(spec.name, spec.collection)
    this.#named = { name, plural, word, area }
    this.collection = collectionOf(spec)
    this.former = key.former && new FormerSlugs(key.former)
    this.items = new Items({ name, word, path: spec.path, key, within, collection: this.collection, former: this.former })
    const keyed = key.field === "id" ? {} : { [key.field]: z.string() }
    const kept = { revision: z.int(), created_at: Timestamp, updated_at: Timestamp }
    this.answer = z.object({ id: Uuid, ...keyed, ...shownShape(spec.fields), ...spec.shown, ...kept }).meta({ id: spec.title })
    this.#ofContainer = within ? { [within.field]: within.schema } : {}
    this.#one = { ...this.#ofContainer, [key.field]: pathField(key, word) }
  }

  /** For `defineReasons` of the plugin. */
  get reasons() {
    return { [`${this.#spec.name}_not_found`]: reasonOf(this.#named, this.#spec.within !== undefined) }
  }

  /** How calls and answers name an item. */
  get identity() {
    const { name, plural, key, wrapped, within } = this.#spec
    return { name, plural, key: key.field, wrapped, container: within?.field }
  }

  get storedFields(): readonly string[] {
    const { within, hidden = [] } = this.#spec
    return [...Object.keys(this.answer.shape), "organization_id", ...hidden, ...(within ? [within.column] : [])]
  }

  show(item: Fields): Fields {
    return Object.fromEntries(Object.keys(this.answer.shape).map((field) => [field, item[field]]))
  }

  create(): AnyOperation {
    const { key, within, fields, defaults, once, path } = this.#spec
    const writable = Object.entries(fields as Shape).map(([field, schema]) => [
      field,
      field in defaults ? schema.default(defaults[field]) : schema,
    ])
    const usual: ErrorCode[] = [
      "invalid_argument",
      ...(within ? ["not_found" as const] : []),
      ...(key.field === "id" ? [] : ["already_exists" as const]),
    ]
    return declared({
      ...this.#about("create", usual),
      http: { method: "POST", path },
      hints: { readOnly: false, destructive: false, idempotent: false },
      input: z.strictObject({ ...this.#ofContainer, ...Object.fromEntries(writable), ...key.input }),
      output: this.#wrapped(once ? z.object({ ...this.answer.shape, ...once.fields }) : this.answer),
      ...(once ? { secretOutput: Object.keys(once.fields) } : {}),
      handle: async (call: Call) => {
        const args = await this.#args(call)
        const item = await this.add(args, call.input)
        return this.#wrap({ ...this.show(item), ...once?.read(item, args.deps) })
      },
    })
  }

  /** Stages a new item. `kept` are fields that the service writes. */
  async add(args: Args, input: Fields, kept?: Fields): Promise<Item> {
    const { key, within, fields, check, start } = this.#spec
    const { store, clock, ids } = args.deps
    const given = Object.fromEntries(Object.keys(fields).map((field) => [field, input[field]]))
    const isTaken = async (text: string) => (await this.items.find(store, args.organization, text, args.container)) !== undefined
    const keyed = await keyOfNew(key, input, this.#named.word, isTaken)
    await check?.(given, { ...args, before: undefined, change: given })
    const [id, at] = [ids.uuid(), timestamp(clock.now())]
    const contained = within ? { [within.column]: args.container.id } : {}
    const started = await start?.({ ...given, id }, args)
    const item: Item = { ...given, ...started, ...kept, ...contained, ...keyed, id, revision: 1, created_at: at, updated_at: at }
    return this.#insert(args, item)
  }

  async #insert(args: Args, item: Item): Promise<Item> {
    args.work.in(this.collection, args.organization).insert(item)
    this.former?.take(args.work, args.organization, String(item["slug"]), item.id)
    stageVersion(args, this.#spec, item)
    await this.#spec.created?.(item, args)
    return { ...item, organization_id: args.organization }
  }

  list(): AnyOperation {
    const { path, columns, within, inject } = this.#spec
    const ofContainer = within && {
      input: this.#ofContainer,
      inject,
      where: async (given: Fields, { organization, deps }: Pick<Args, "organization" | "deps">) => ({
        [within.column]: (await within.require(deps as never, organization, String(given[within.field]))).id,
      }),
    }
    const { errors: _errors, inject: _inject, onConflict: _retried, ...about } = this.#about("list", [])
    const { collection } = this
    return defineList({
      ...about,
      ...{ path, columns, collection, ...ofContainer },
      items: { [this.#named.plural]: this.answer },
      view: (item: Item) => this.show(item) as never,
    } as never) as AnyOperation
  }

  get(): AnyOperation {
    return declared({
      ...this.#about("get", ["not_found"]),
      http: { method: "GET", path: this.#onePath },
      hints: { readOnly: true, destructive: false, idempotent: true },
      input: z.strictObject(this.#one),
      output: this.answer,
      handle: async (call: Call) => this.show(await this.#required(call, await this.#args(call))),
    })
  }

  update(): AnyOperation {
    const { key } = this.#spec
    const fields = Object.entries(this.#spec.fields as Shape).map(([field, schema]) => [field, schema.optional()])
    return declared({
      ...this.#about("update", ["invalid_argument", "not_found", "aborted"]),
      http: { method: this.#spec.verbs?.update?.method ?? "PATCH", path: this.#onePath },
      hints: { readOnly: false, destructive: true, idempotent: true },
      input: z.strictObject({
        ...this.#one,
        ...Object.fromEntries(fields),
        ...(key.former && {
          [key.former.rename]: Slug.optional().describe(`The slug, or a free one: the ${this.#named.word} is renamed.`),
        }),
        expected_revision: z.int().min(1).optional().describe("Revision that was read; another one refuses the change."),
        ...readOnlyInput(this.#readOnly),
      }),
      output: this.#wrapped(this.answer),
      handle: async (call: Call) => this.#change(call, await this.#args(call)),
    })
  }

  async #change(call: Call, args: Args): Promise<Fields> {
    const { key, within } = this.#spec
    const before = await this.#required(call, args)
    const { [key.field]: ref, [within?.field ?? ""]: _container, expected_revision, ...rest } = call.input
    requireRevision(this.#named.word, before.revision, expected_revision as number | undefined)
    const given = omitReadOnly(rest, this.show(before), this.#readOnly)
    const differs = ([field, value]: [string, unknown]) => value !== undefined && !isDeepStrictEqual(value, before[field])
    const slug = await this.#newSlug(before, String(ref), given, args)
    const change = { ...Object.fromEntries(Object.entries(given).filter(differs)), ...slug }
    if (Object.keys(change).length === 0) return this.#wrap(this.show(before))
    return this.#wrap(this.show(await this.#stage(args, before, change)))
  }

  async #stage(args: Args, before: Item, change: Fields): Promise<Item> {
    const { check, updated } = this.#spec
    await check?.({ ...before, ...change }, { ...args, before, change })
    const item = stageRevision(args.work.in(this.collection, args.organization), before, change as never, args.deps.clock.now())
    stageVersion(args, this.#spec, item, before)
    await updated?.(item, before, args)
    return item
  }

  /** Takes the new slug out of `given`. A former slug in the path renames nothing. */
  async #newSlug(before: Item, ref: string, given: Fields, { deps, organization, work }: Args): Promise<{ slug?: string }> {
    const { former } = this.#spec.key
    if (!former || !this.former) return {}
    const slug = given[former.rename] as string | undefined
    delete given[former.rename]
    if (slug === undefined || slug === ref || slug === before["slug"]) return {}
    const owner = await this.former.ownerOf(deps.store, organization, slug)
    const { word } = this.#named
    if (owner !== undefined && owner !== before.id) throw slugTaken(`A ${word} has or had the slug "${slug}"; take another.`, former.rename)
    if (owner === undefined) this.former.take(work, organization, slug, before.id)
    return { slug }
  }

  delete(): AnyOperation {
    return declared({
      ...this.#about("delete", ["not_found", "aborted"]),
      http: { method: "DELETE", path: this.#onePath },
      hints: { readOnly: false, destructive: true, idempotent: true },
      input: z.strictObject(this.#one),
      output: z.object({ id: Uuid, deleted: z.literal(true) }),
      handle: async (call: Call) => this.#deleteOne(call, await this.#args(call)),
    })
  }

  async #deleteOne(call: Call, args: Args) {
    const item = await this.#required(call, args)
    await this.remove(args, item)
    return { id: item.id, deleted: true as const }
  }

  /** Stages a deletion. `deletedWith` is the id of the item whose deletion causes it. */
  async remove(args: Args, item: Item, deletedWith?: string): Promise<void> {
    args.work.in(this.collection, args.organization).remove(item.id, { where: { revision: item.revision } })
    stageTrash(args, this.#spec, item, deletedWith)
    await this.former?.release(args.deps.store, args.work, args.organization, item.id)
    await this.#spec.deleted?.(item, args)
  }

  /** Stages that a deleted item exists again. Throws `already_exists` if another item has its key now. */
  async restore(given: Omit<Args, "container">, { id, key, document }: StoredTrash, container?: Container): Promise<Item> {
    const { within, key: named } = this.#spec
    const { deps, organization, work } = given
    const owner = within && (container ?? (await within.require(deps as never, organization, String(document[within.column]))))
    const args = { ...given, container: owner ?? ofOrganization }
    if (named.field !== "id" && (await this.items.find(deps.store, organization, key, args.container)))
      throw slugTaken(`Another ${this.#named.word} has the ${named.field} "${key}" now; rename or delete it.`, named.field)
    const before = document as unknown as Item
    work.in(TrashCollection, organization).remove(id)
    return this.#insert(args, { ...before, id, revision: before.revision + 1, updated_at: timestamp(deps.clock.now()) })
  }

  /** Stages that an item has the fields of an earlier version. */
  async restoreVersion(args: Omit<Args, "container">, { item_id, fields }: StoredVersion): Promise<Item> {
    const { within } = this.#spec
    const { deps, organization } = args
    const stored = await deps.store.open(this.collection, organization).get(item_id)
    const container = within && stored ? await within.require(deps as never, organization, String(stored[within.column])) : ofOrganization
    const before = await this.items.require(deps.store, organization, item_id, container)
    const change = Object.fromEntries(Object.entries(fields).filter(([name, value]) => !isDeepStrictEqual(value, before[name])))
    return Object.keys(change).length === 0 ? before : this.#stage({ ...args, container }, before, change)
  }

  /** Parts that every operation has. */
  #about(verb: Verb, usual: readonly ErrorCode[]) {
    const { access, verbs, inject } = this.#spec
    const { method: _method, isRepeated = verb === "create" || verb === "delete", errors = [], ...given } = verbs?.[verb] ?? {}
    const rights = verb === "list" || verb === "get" ? access.read : access.write
    return {
      name: operationName(this.#named, verb),
      summary: summaryOf(this.#named, verb),
      examples: examplesOf(verb, this.#named, this.#spec),
      ...given,
      access: { ...rights, ...given.access },
      errors: [...new Set([...usual, ...errors])],
      inject: { ...inject, store: Store, clock: Clock, ids: Ids },
      ...(isRepeated && { onConflict: async ({ error }: { readonly error: AppError }) => error }),
    }
  }

  async #args({ input, caller, deps, work }: Call): Promise<Args> {
    const { within } = this.#spec
    const organization = caller.organization.id
    const container = within ? await within.require(deps as never, organization, String(input[within.field])) : ofOrganization
    return { organization, caller, deps, work, container }
  }

  #required({ input }: Call, args: Args): Promise<Item> {
    return this.items.require(args.deps.store, args.organization, String(input[this.#spec.key.field]), args.container)
  }

  get #onePath(): string {
    return `${this.#spec.path}/{${this.#spec.key.field}}`
  }

  get #readOnly(): string[] {
    return [...readOnly.filter((field) => field !== this.#spec.key.field), ...Object.keys(this.#spec.shown ?? {})]
  }

  #wrap(value: Fields): Fields {
    const { wrapped } = this.#spec
    return wrapped === undefined ? value : { [wrapped]: value }
  }

  #wrapped(schema: z.ZodType): z.ZodType {
    const { wrapped } = this.#spec
    return wrapped === undefined ? schema : z.object({ [wrapped]: schema })
  }
}

/** The caller has an organization: no operation of a resource is open to a person without one. */
function declared<T extends { handle(call: Call): Promise<unknown> }>(operation: T): AnyOperation {
  return defineOperation(operation as unknown as AnyOperation)
}

function collectionOf({ collection, key, within }: AnyResourceSpec): CollectionSpec<Item, "organization"> {
  const { indexes = [], times = [], ...given } = collection
  const unique = key.field === "id" ? [] : [{ fields: [...(within ? [within.column] : []), key.field], unique: true }]
  return defineCollection<Item>()({
    ...given,
    scope: "organization",
    times: ["created_at", "updated_at", ...times],
    indexes: [...unique, ...indexes],
  })
}
