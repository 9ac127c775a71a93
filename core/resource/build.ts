// Makes the collection and the operations of a resource.
import { z } from "zod"
import { type CollectionSpec, defineCollection } from "../contract/collection.ts"
import { omitReadOnly, readOnlyInput, Slug, Timestamp, Uuid } from "../contract/fields.ts"
import { defineList } from "../contract/list.ts"
import { type AnyOperation, defineOperation } from "../contract/operation.ts"
import { rememberSealed } from "../contract/resource-history.ts"
import { requireRevision } from "../contract/revision.ts"
import { Store } from "../contract/store.ts"
import { Clock } from "../kernel/clock.ts"
import type { AppError, ErrorCode } from "../kernel/errors.ts"
import { Ids } from "../kernel/ids.ts"
import { changedFields, containerOf, ItemChanges } from "./changes.ts"
import { FormerSlugs } from "./former-slugs.ts"
import { Items } from "./items.ts"
import { pathField } from "./keys.ts"
import { shownShape } from "./shown.ts"
import type { AnyResourceSpec, Fields, HookArgs, Item, Shape, Verb } from "./spec.ts"
import { examplesOf, type Named, operationName, reasonOf, summaryOf } from "./texts.ts"

type Args = HookArgs<Record<never, never>>
type Call = Pick<Args, "caller" | "deps" | "work"> & { readonly input: Fields }

/** Hints of operations with a handler here. */
const usualHints = {
  create: { readOnly: false, destructive: false, idempotent: false },
  get: { readOnly: true, destructive: false, idempotent: true },
  update: { readOnly: false, destructive: true, idempotent: true },
  delete: { readOnly: false, destructive: true, idempotent: true },
}
const readOnly = ["id", "revision", "created_at", "updated_at"]

export class ResourceBuilder {
  readonly #spec: AnyResourceSpec
  readonly #named: Named
  readonly collection: CollectionSpec<Item, "organization">
  readonly items: Items<Item>
  readonly former: FormerSlugs | undefined
  readonly answer: z.ZodObject
  readonly #ofContainer: Record<string, z.ZodType>
  readonly #one: Record<string, z.ZodType>
  /** Key field of the path. */
  readonly ref: z.ZodType<string>
  readonly changes: ItemChanges

  constructor(spec: AnyResourceSpec) {
    const { name, key, within, defaults } = spec
    const { plural, word = name.replaceAll("_", " "), area, verbs } = spec
    this.#spec = spec
    rememberSealed(spec.name, spec.collection)
    this.#named = { name, plural, word, area, verbs }
    this.collection = collectionOf(spec)
    this.former = key.former && new FormerSlugs(key.former)
    this.items = new Items({ name, word, path: spec.path, key, within, collection: this.collection, former: this.former, defaults })
    const keyed = key.field === "id" ? {} : { [key.field]: z.string() }
    const kept = { revision: z.int(), created_at: Timestamp, updated_at: Timestamp }
    this.answer = z.object({ id: Uuid, ...keyed, ...shownShape(spec.fields), ...spec.shown, ...kept }).meta({ id: spec.title })
    this.#ofContainer = within ? { [within.field]: within.schema } : {}
    this.ref = pathField(key, word)
    this.#one = { ...this.#ofContainer, [key.field]: this.ref }
    this.changes = new ItemChanges({ spec, word, collection: this.collection, items: this.items, former: this.former })
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
    const { within, hidden = [], unstored = [] } = this.#spec
    const answered = Object.keys(this.answer.shape).filter((field) => !unstored.includes(field))
    return [...new Set([...answered, "organization_id", ...hidden, ...(within ? [within.column] : [])])]
  }

  /** Returns an item as answers show it. An item older than a field shows the default of the field. */
  show(item: Fields): Fields {
    const shown = { ...this.#spec.defaults, ...item, ...this.#spec.present?.(item as Item) }
    return Object.fromEntries(Object.keys(this.answer.shape).map((field) => [field, shown[field]]))
  }

  /** The answer on one item, with fields from services. */
  async whole(item: Fields, args: Pick<Args, "caller" | "deps">): Promise<Fields> {
    return { ...this.show(item), ...(await this.#spec.complete?.(item as Item, args)) }
  }

  create(): AnyOperation {
    const { key, within, fields, defaults, later = [], inputs, once, path } = this.#spec
    const writable = Object.entries(fields as Shape).flatMap(([field, schema]) =>
      later.includes(field) ? [] : [[field, withDefault(schema, field, defaults)]],
    )
    const usual: ErrorCode[] = [
      "invalid_argument",
      ...(within ? ["not_found" as const] : []),
      ...(key.field === "id" ? [] : ["already_exists" as const]),
    ]
    return declared({
      ...this.#handled("create", usual),
      http: { method: "POST", path },
      input: z.strictObject({ ...this.#ofContainer, ...Object.fromEntries(writable), ...inputs, ...key.input }),
      output: this.#wrapped(once ? z.object({ ...this.answer.shape, ...once.fields }) : this.answer),
      ...(once ? { secretOutput: Object.keys(once.fields) } : {}),
      handle: async (call: Call) => {
        const args = await this.#args(call)
        const item = await this.changes.add(args, call.input)
        return this.#wrap({ ...(await this.whole(item, args)), ...once?.read(item, args.deps) })
      },
    })
  }

  list(): AnyOperation {
    const { path, columns, within, inject, list: { filters, sort, isWhole } = {} } = this.#spec
    const ofContainer = within && {
      inject,
      where: async ({ [within.field]: ref, ...given }: Fields, { organization, deps }: Pick<Args, "organization" | "deps">) => ({
        ...given,
        [within.column]: (await containerOf(this.#spec, deps, organization, ref)).id,
      }),
    }
    const { collection } = this
    return defineList({
      ...this.#about("list"),
      ...{ path, columns, collection, isWhole, sort, ...ofContainer },
      input: { ...this.#ofContainer, ...filters },
      items: { [this.#named.plural]: this.answer },
      view: (item: Item) => this.show(item) as never,
    } as never) as AnyOperation
  }

  get(): AnyOperation {
    return declared({
      ...this.#handled("get", ["not_found"]),
      http: { method: "GET", path: this.#onePath },
      input: z.strictObject(this.#one),
      output: this.answer,
      handle: async (call: Call) => {
        const args = await this.#args(call)
        return this.whole(await this.#required(call, args), args)
      },
    })
  }

  update(): AnyOperation {
    const { key } = this.#spec
    const fixed = this.#readOnly
    const fields = Object.entries(this.#spec.fields as Shape).flatMap(([field, schema]) =>
      fixed.includes(field) ? [] : [[field, schema.optional()]],
    )
    return declared({
      ...this.#handled("update", ["invalid_argument", "not_found", "aborted"]),
      http: { method: this.#spec.verbs?.update?.method ?? "PATCH", path: this.#onePath },
      input: z.strictObject({
        ...this.#one,
        ...Object.fromEntries(fields),
        ...this.#spec.inputs,
        ...(key.former && {
          [key.former.rename]: Slug.optional().describe(`The slug, or a free one: the ${this.#named.word} is renamed.`),
        }),
        expected_revision: z.int().min(1).optional().describe("Revision that was read; another one refuses the change."),
        ...readOnlyInput(fixed),
      }),
      output: this.#wrapped(this.answer),
      handle: async (call: Call) => this.#change(call, await this.#args(call)),
    })
  }

  async #change(call: Call, args: Args): Promise<Fields> {
    const { key, within } = this.#spec
    const before = await this.#required(call, args)
    const names = { ref: key.field, container: within?.field ?? "", slug: key.former?.rename ?? "" }
    const { [names.ref]: ref, [names.container]: _container, [names.slug]: slug, expected_revision, ...rest } = call.input
    requireRevision(this.#named.word, before.revision, expected_revision as number | undefined)
    const isShown = (this.#spec.unstored ?? []).some((field) => rest[field] !== undefined)
    const shown = isShown ? await this.whole(before, args) : this.show(before)
    const given = Object.entries(omitReadOnly(rest, shown, this.#readOnly))
    const isInput = ([name]: [string, unknown]) => name in (this.#spec.inputs ?? {})
    const inputs = changedFields(Object.fromEntries(given.filter(isInput)), shown)
    const renamed = await this.changes.rename(args, before, String(ref), slug as string | undefined)
    const fields = Object.fromEntries(given.filter((one) => !isInput(one)))
    const change = { ...changedFields(fields, shown), ...renamed }
    const isChanged = Object.keys({ ...change, ...inputs }).length > 0
    return this.#wrap(await this.whole(isChanged ? await this.changes.update(args, before, change, inputs) : before, args))
  }

  delete(): AnyOperation {
    return declared({
      ...this.#handled("delete", ["not_found", "aborted"]),
      http: { method: "DELETE", path: this.#onePath },
      input: z.strictObject(this.#one),
      output: z.object({ id: Uuid, deleted: z.literal(true), ...this.#spec.gone?.fields }),
      handle: async (call: Call) => this.#deleteOne(call, await this.#args(call)),
    })
  }

  async #deleteOne(call: Call, args: Args) {
    const item = await this.#required(call, args)
    await this.changes.remove(args, item)
    return { id: item.id, deleted: true as const, ...this.#spec.gone?.read(item) }
  }

  /** Parts of every operation. */
  #about(verb: Verb) {
    const { access, verbs } = this.#spec
    const { method: _method, isRepeated: _repeated, errors: _errors, hints: _hints, ...given } = verbs?.[verb] ?? {}
    const rights = verb === "list" || verb === "get" ? access.read : access.write
    return {
      name: operationName(this.#named, verb),
      summary: summaryOf(this.#named, verb),
      examples: examplesOf(verb, this.#named, this.#spec),
      ...given,
      access: { ...rights, ...given.access },
    }
  }

  /** Parts of every operation with a handler here. */
  #handled(verb: Exclude<Verb, "list">, usual: readonly ErrorCode[]) {
    const { verbs, inject } = this.#spec
    const { isRepeated = verb === "create" || verb === "delete", errors = [], hints } = verbs?.[verb] ?? {}
    return {
      ...this.#about(verb),
      hints: { ...usualHints[verb], ...hints },
      errors: [...new Set([...usual, ...errors])],
      inject: { ...inject, store: Store, clock: Clock, ids: Ids },
      ...(isRepeated && { onConflict: async ({ error }: { readonly error: AppError }) => error }),
    }
  }

  async #args({ input, caller, deps, work }: Call): Promise<Args> {
    const { within } = this.#spec
    const organization = caller.organization.id
    const container = await containerOf(this.#spec, deps, organization, input[within?.field ?? ""])
    return { organization, caller, deps, work, container }
  }

  #required({ input }: Call, args: Args): Promise<Item> {
    return this.items.require(args.deps.store, args.organization, String(input[this.#spec.key.field]), args.container)
  }

  get #onePath(): string {
    return `${this.#spec.path}/{${this.#spec.key.field}}`
  }

  get #readOnly(): string[] {
    const { key, shown, fixed = [], inputs = {} } = this.#spec
    return [...readOnly, ...Object.keys(shown ?? {}), ...fixed].filter((field) => field !== key.field && !(field in inputs))
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

function withDefault(schema: z.ZodType, field: string, defaults: Fields): z.ZodType {
  if (!(field in defaults)) return schema
  return defaults[field] === undefined ? schema.optional() : schema.default(defaults[field])
}

/** The caller always has an organization, since no operation of a resource is open to a person without one. */
function declared<T extends { handle(call: Call): Promise<unknown> }>(operation: T): AnyOperation {
  return defineOperation(operation as unknown as AnyOperation)
}

function collectionOf({ collection, key, within }: AnyResourceSpec): CollectionSpec<Item, "organization"> {
  const { indexes = [], times = [], ...given } = collection
  const unique = key.field === "id" || key.idOf ? [] : [{ fields: [...(within ? [within.column] : []), key.field], unique: true }]
  return defineCollection<Item>()({
    ...(given as object as Pick<CollectionSpec<Item, "organization">, "name">),
    scope: "organization",
    times: ["created_at", "updated_at", ...times],
    indexes: [...unique, ...indexes],
  })
}
