// A plugin's declaration of a resource. `resource.ts` makes the collection, the operations and the reason from it.
import type { z } from "zod"
import type { Caller } from "../contract/caller.ts"
import type { CollectionSpec, Document } from "../contract/collection.ts"
import type { Access, Hints, Operation } from "../contract/operation.ts"
import type { Sort, Store } from "../contract/store.ts"
import type { UnitOfWork } from "../contract/unit-of-work.ts"
import type { Clock } from "../kernel/clock.ts"
import type { Deps, Token, TokenRecord } from "../kernel/di.ts"
import type { ErrorCode } from "../kernel/errors.ts"
import type { Ids } from "../kernel/ids.ts"
import type { FormerSlugsSpec } from "./former-slugs.ts"

export type Shape = Readonly<Record<string, z.ZodType>>
/** Values of a shape, as they are stored. */
export type Values<S extends Shape> = { -readonly [P in keyof S]: z.output<S[P]> }
/** Defaults of a creation. If a default is undefined, the hook `start` returns the value. */
export type Defaults<F extends Shape> = { readonly [P in keyof F]?: z.input<F[P]> | undefined }

/** The key of an item in a path: a slug, a key of the caller, or the id. A UUID always works. */
export interface Key<K extends string, I extends Shape> {
  /** Field of the path and of the document. */
  readonly field: K
  /** Input of the creation. */
  readonly input: I
  /** Source field of the slug. The caller may send another slug. */
  readonly from?: string
  readonly former?: FormerSlugsSpec
  /** Id of every item, derived from the key. */
  idOf?(organization: string, key: string): string
  /** Id of a new item only. The key field finds the item. */
  idOfNew?(organization: string, key: string): string
  /** Error of a second item with the same key; default `slug_taken`. */
  taken?(key: string): Error
}

/** The container of a resource. */
export interface Within<P extends string, C extends string, R extends TokenRecord> {
  /** Field of the path, such as `suite`. */
  readonly field: P
  /** Field of the document for the id, such as `suite_id`. */
  readonly column: C
  readonly schema: z.ZodType<string>
  /** Example calls for a container, and its path field in examples. */
  readonly example: { readonly given: NonNullable<Example["given"]>; readonly input: Readonly<Record<string, never>> }
  /** Throws `not_found`. */
  require(deps: Deps<R & OwnTokens>, organization: string, ref: string): Promise<Container>
}

export interface Container {
  readonly id: string
  readonly slug?: string
}

export type Example = NonNullable<Operation["examples"]>[number]

/** Fields of every document. */
export interface Kept extends Document {
  revision: number
  created_at: string
  updated_at: string
}

export type Stored<K extends string, F extends Shape, S extends Shape, H extends object> = Kept &
  Values<F> &
  Service<S, H> &
  (K extends "id" ? unknown : Record<K, string>)

/** Fields that the service writes. A field of `H` replaces the shown field in the document. */
export type Service<S extends Shape, H extends object> = Omit<Values<S>, keyof H> & H

/** Tokens of every operation of a resource. */
export interface OwnTokens extends TokenRecord {
  readonly store: Token<Store>
  readonly clock: Token<Clock>
  readonly ids: Token<Ids>
}

/** The arguments of a hook. */
export interface HookArgs<R extends TokenRecord> {
  readonly organization: string
  readonly caller: Caller
  readonly deps: Deps<R & OwnTokens>
  /** Stage further changes here. They are committed with the change itself. */
  readonly work: UnitOfWork
  /** The container. Its id is empty for a resource of the organization. */
  readonly container: Container
}

/** The caller of an answer, with the services of the resource. */
export type AnswerArgs<R extends TokenRecord> = { readonly caller: Caller; readonly deps: Deps<R> }

export interface CheckArgs<R extends TokenRecord, D, F extends Shape> extends HookArgs<R> {
  /** Undefined for a new item. */
  readonly before: D | undefined
  /** The changed fields. */
  readonly change: Partial<Values<F>>
}

export type Verb = "create" | "list" | "get" | "update" | "delete"
export type Omittable = "list" | "delete"

/** Unusual parts of one operation. */
export interface VerbSpec {
  /** Another name of the operation, such as `phone_numbers.register`. */
  readonly name?: string
  readonly hints?: Partial<Hints>
  readonly summary?: string
  readonly description?: string
  /** Codes beside the usual ones. */
  readonly errors?: readonly ErrorCode[]
  readonly examples?: readonly Example[]
  readonly access?: Partial<Access>
  readonly mcp?: Operation["mcp"]
  readonly auditSize?: Operation["auditSize"]
  readonly method?: "PUT" | "PATCH"
  /**
   * The call runs a second time after a concurrent commit. Default for creations and deletions. An update needs it if the
   * service itself changes the document.
   */
  readonly isRepeated?: boolean
}

export interface ResourceSpec<
  N extends string,
  K extends string,
  I extends Shape,
  F extends Shape,
  D extends Defaults<F>,
  S extends Shape,
  H extends object,
  W extends string,
  A extends Shape,
  P extends string,
  C extends string,
  R extends TokenRecord,
  L extends string,
  X extends string,
  Q extends Shape,
  G extends Shape,
  Y extends string,
  E extends Shape,
  O extends Omittable,
> {
  /** Singular in snake case, such as `persona`. Reasons and examples begin with it. */
  readonly name: N
  /** Name of the list in answers, such as `personas`. Operations begin with it if there is no area. */
  readonly plural: L
  /** The noun in messages and summaries; default: the name with spaces. */
  readonly word?: string
  /** Operations are `<area>.<verb>_<name>`. Without it they are `<plural>.<verb>`. */
  readonly area?: string
  /** Id of the answer's schema, such as `Persona`. */
  readonly title: string
  readonly path: string
  /** False: no versions, and no trash. */
  readonly history?: false
  readonly collection: Pick<CollectionSpec, "name" | "audit" | "auditFields" | "sealed" | "repairsText" | "restore"> & {
    /** Indexes beside the one of the key. */
    readonly indexes?: CollectionSpec["indexes"]
    /** Times beside `created_at` and `updated_at`. */
    readonly times?: readonly string[]
  }
  readonly access: { readonly read: Pick<Access, "scope" | "role">; readonly write: Pick<Access, "scope" | "role"> }
  readonly key: Key<K, I>
  readonly within?: Within<P, C, R>
  /** Writable fields. */
  readonly fields: F
  /** Defaults of a creation. */
  readonly defaults: D
  /** Optional inputs of creations and changes. Documents do not store them, and hooks read them. The value of an answer changes nothing. */
  readonly inputs?: E
  /** Operations to leave out. Without a deletion no item enters the trash. */
  readonly omit?: readonly O[]
  /** Writable fields of a change alone. A new item has their defaults, or the values of `start`. */
  readonly later?: readonly Y[]
  /** Writable fields of the creation alone. Further operations may change them. */
  readonly fixed?: readonly X[]
  /** Read-only fields. The service writes them. */
  readonly shown?: S
  /** Shown fields that no document stores. `present` gives their values. */
  readonly unstored?: readonly (keyof S & string)[]
  /** Values in answers of `shown` fields that documents store in another form, or not. */
  present?(item: Stored<K, F, S, H>): Partial<Values<S> & Values<F>>
  /** Values of `unstored` fields from services, for the answers on one item. Lists leave them out. */
  complete?(item: Stored<K, F, S, H>, args: AnswerArgs<R>): Promise<Partial<Values<S>>>
  /** Names of hidden fields. No answer shows them. */
  readonly hidden?: readonly (keyof H & string)[]
  /** Answers of create and update have the item in this field. */
  readonly wrapped?: W
  readonly columns: readonly string[]
  readonly list?: {
    /** Conditions of a caller. An empty condition is ignored. */
    readonly filters?: Q
    /** Default: newest first. */
    readonly sort?: Sort
    /** REST callers receive the whole list, and each page has `total`. */
    readonly isWhole?: true
  }
  /** The first creates the item of all other examples. */
  readonly examples: readonly Example[]
  /** A change of this item, for the example of an update. */
  readonly change: { readonly [Q in keyof F]?: z.input<F[Q]> }
  readonly verbs?: { readonly [V in Verb]?: VerbSpec }
  readonly inject?: R
  /** Refuses contradictory fields. Receives all fields of a new, changed or restored item. */
  check?(fields: Values<F>, args: CheckArgs<R, Stored<K, F, S, H>, F>): Promise<void> | void
  /** Refusal of a reserved key. A generated key avoids reserved keys. */
  reserved?(key: string, args: HookArgs<R>): Error | undefined
  /** Values of `shown` and of hidden fields for a new item. */
  start?(fields: Values<F> & Values<I> & Values<E> & { readonly id: string }, args: HookArgs<R>): Promise<Service<S, H>> | Service<S, H>
  /** Fields of the service that change with the given fields. */
  alongside?(
    change: Partial<Values<F>>,
    before: Stored<K, F, S, H>,
    args: HookArgs<R> & { readonly inputs: Partial<Values<E>> },
  ): Promise<Partial<Service<S, H>>> | Partial<Service<S, H>>
  /** Fields of the service that a restoration from the trash replaces. */
  restored?(item: Stored<K, F, S, H>, args: HookArgs<R>): Promise<Partial<Service<S, H>>> | Partial<Service<S, H>>
  /** Fields of the creation's answer alone, for example a secret. */
  readonly once?: { readonly fields: A; read(item: Stored<K, F, S, H>, deps: Deps<R & OwnTokens>): Values<A> }
  /** Fields of the deletion's answer beside the id. */
  readonly gone?: { readonly fields: G; read(item: Stored<K, F, S, H>): Values<G> }
  /** Stages consequences of a creation, a change or a deletion. */
  created?(item: Stored<K, F, S, H>, args: HookArgs<R>): Promise<void> | void
  updated?(item: Stored<K, F, S, H>, before: Stored<K, F, S, H>, args: HookArgs<R>): Promise<void> | void
  deleted?(item: Stored<K, F, S, H>, args: HookArgs<R>): Promise<void> | void
}

// biome-ignore lint/suspicious/noExplicitAny: the builder knows fields by their names alone.
export type AnyResourceSpec = ResourceSpec<any, any, any, any, any, any, any, any, any, any, any, any, any, any, any, any, any, any, any>

/** Read-only fields of every document. */
export type ReadOnlyField = "id" | "revision" | "created_at" | "updated_at"

/** An item inside this folder. Fields have no types here. */
export type Item = Kept & Fields
export type Fields = Record<string, unknown>
