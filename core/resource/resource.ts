// A resource: one declaration makes a collection, the operations list, get, create, update and delete, and the reason
// `<name>_not_found`. Further operations are declared beside the resource.
import type { z } from "zod"
import type { CollectionSpec } from "../contract/collection.ts"
import type { Timestamp, Uuid } from "../contract/fields.ts"
import type { Operation } from "../contract/operation.ts"
import type { pageInput } from "../contract/pagination.ts"
import type { DeclaredResource } from "../contract/resource.ts"
import type { TokenRecord } from "../kernel/di.ts"
import { ResourceBuilder } from "./build.ts"
import type { Items } from "./items.ts"
import type {
  AnswerArgs,
  AnyResourceSpec,
  Defaults,
  HookArgs,
  Omittable,
  ReadOnlyField,
  ResourceSpec,
  Service,
  Shape,
  Stored,
} from "./spec.ts"

type CreateShape<F extends Shape, D, Y extends string> = {
  [P in keyof F as P extends Y ? never : P]: P extends keyof D ? z.ZodDefault<F[P]> : F[P]
}
type UpdateShape<F extends Shape, X extends string> = { [P in keyof F]: P extends X ? z.ZodOptional<z.ZodType> : z.ZodOptional<F[P]> }
type Path<K extends string> = Record<K, z.ZodType<string, string>>
type ReadOnly<S extends Shape> = { [P in keyof S | ReadOnlyField]: z.ZodOptional<z.ZodType> }
type AnswerShape<K extends string, F extends Shape, S extends Shape> = { [P in keyof F]: z.ZodType<z.output<F[P]>> } & S & {
    id: typeof Uuid
    revision: z.ZodInt
    created_at: typeof Timestamp
    updated_at: typeof Timestamp
  } & (K extends "id" ? unknown : Record<K, z.ZodString>)
type Answer<K extends string, F extends Shape, S extends Shape> = z.ZodObject<AnswerShape<K, F, S>>
type Wrapped<W extends string, O extends z.ZodType> = [W] extends [never] ? O : z.ZodObject<Record<W, O>>
type Strict<T extends Shape> = z.ZodObject<T, z.core.$strict>

/** A declared resource. */
export interface Resource<
  N extends string = string,
  K extends string = string,
  I extends Shape = Shape,
  F extends Shape = Shape,
  D = unknown,
  S extends Shape = Shape,
  H extends object = object,
  W extends string = never,
  A extends Shape = Shape,
  P extends string = never,
  L extends string = string,
  R extends TokenRecord = TokenRecord,
  X extends string = never,
  Q extends Shape = Record<never, never>,
  G extends Shape = Record<never, never>,
  Y extends string = never,
  E extends Shape = Record<never, never>,
  O extends Omittable = never,
> extends DeclaredResource {
  readonly collection: CollectionSpec<Stored<K, F, S, H>, "organization">
  readonly items: Items<Stored<K, F, S, H>>
  /** For `defineReasons` of the plugin. */
  readonly reasons: { readonly [Q in `${N}_not_found`]: { readonly code: "not_found"; readonly summary: string; readonly remedy: string } }
  /** Schemas of the writable fields. */
  readonly fields: F
  /** Schema of an item in answers. */
  readonly answer: Answer<K, F, S>
  /** Key field of the path. */
  readonly ref: z.ZodType<string, string>
  readonly changes: DeclaredResource["changes"] & {
    /** Stages a new item as the creation does. `kept` has fields of the service. */
    add(
      args: HookArgs<R>,
      input: z.output<Strict<CreateShape<F, D, Y> & I & E>>,
      kept?: Partial<Service<S, H>>,
    ): Promise<Stored<K, F, S, H>>
    /** Stages a deletion. `deletedWith` is the id of the deleted container; its restoration restores both. */
    remove(args: HookArgs<TokenRecord>, item: Stored<K, F, S, H>, deletedWith?: string): Promise<void>
  }
  /** An item as answers show it. */
  show(item: Stored<K, F, S, H>): z.input<Answer<K, F, S>>
  /** The answer on one item, with fields from services. */
  whole(item: Stored<K, F, S, H>, args: AnswerArgs<R>): Promise<z.input<Answer<K, F, S>>>
  readonly create: Operation<Strict<Path<P> & CreateShape<F, D, Y> & I & E>, Wrapped<W, z.ZodObject<AnswerShape<K, F, S> & A>>>
  readonly list: "list" extends O
    ? undefined
    : Operation<Strict<Path<P> & Q & typeof pageInput>, z.ZodObject<Record<L, z.ZodArray<Answer<K, F, S>>> & { next_cursor: z.ZodString }>>
  readonly get: Operation<Strict<Path<P | K>>, Answer<K, F, S>>
  readonly update: Operation<
    Strict<Path<P | K> & UpdateShape<F, X> & E & ReadOnly<S> & { expected_revision: z.ZodOptional<z.ZodInt> }>,
    Wrapped<W, Answer<K, F, S>>
  >
  readonly delete: "delete" extends O
    ? undefined
    : Operation<Strict<Path<P | K>>, z.ZodObject<{ id: typeof Uuid; deleted: z.ZodLiteral<true> } & G>>
}

/** Declares a resource: `defineResource<Hidden>()({ ... })`. `Hidden` has the hidden fields. */
export function defineResource<H extends object = object>() {
  return <
    const N extends string,
    const K extends string,
    I extends Shape,
    F extends Shape,
    const D extends Defaults<F>,
    S extends Shape = Record<never, never>,
    const W extends string = never,
    A extends Shape = Record<never, never>,
    const P extends string = never,
    const C extends string = never,
    R extends TokenRecord = Record<never, never>,
    const L extends string = string,
    const X extends string = never,
    Q extends Shape = Record<never, never>,
    G extends Shape = Record<never, never>,
    const Y extends string = never,
    E extends Shape = Record<never, never>,
    const O extends Omittable = never,
  >(
    spec: ResourceSpec<N, K, I, F, D, S, H, W, A, P, C, R, L, X, Q, G, Y, E, O>,
  ): Resource<N, K, I, F, D, S, H & ([C] extends [never] ? unknown : Record<C, string>), W, A, P, L, R, X, Q, G, Y, E, O> => {
    const built = new ResourceBuilder(spec as unknown as AnyResourceSpec)
    const { collection, items, reasons, answer, identity, storedFields, former, ref, changes } = built
    const has = (verb: Omittable) => !spec.omit?.some((omitted) => omitted === verb)
    const operations = {
      ...{ create: built.create(), get: built.get(), update: built.update() },
      ...(has("list") && { list: built.list() }),
      ...(has("delete") && { delete: built.delete() }),
    }
    const show = (item: Stored<K, F, S, H>) => built.show(item as never)
    const whole = (item: Stored<K, F, S, H>, args: AnswerArgs<R>) => built.whole(item as never, args as never)
    return {
      fields: spec.fields,
      hasHistory: spec.history !== false,
      collection,
      items,
      reasons,
      answer,
      identity,
      storedFields,
      former,
      show,
      whole,
      ref,
      changes,
      ...operations,
    } as never
  }
}

/** Documents of a resource, hidden fields included. */
export type ItemOf<R extends DeclaredResource> = NonNullable<R["collection"]["document"]>
