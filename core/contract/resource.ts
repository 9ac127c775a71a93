// A declared resource in the registry: a collection with its operations. core/resource builds it.
import type { DeclarationKind } from "../kernel/registry.ts"
import type { Caller } from "./caller.ts"
import type { CollectionSpec } from "./collection.ts"
import type { AnyOperation } from "./operation.ts"
import type { StoredTrash, StoredVersion } from "./resource-history.ts"
import type { UnitOfWork } from "./unit-of-work.ts"

// biome-ignore lint/suspicious/noExplicitAny: the registry holds documents of every type.
type AnyCollection = CollectionSpec<any, "organization">

/** The call of a change, with the services of the resource. */
export interface ResourceCall {
  readonly organization: string
  readonly caller: Caller
  // biome-ignore lint/suspicious/noExplicitAny: each resource injects services of its own.
  readonly deps: any
  readonly work: UnitOfWork
}

/** A declared resource without the types of its fields. */
export interface DeclaredResource {
  readonly collection: AnyCollection
  /** Fields of its documents. */
  readonly storedFields: readonly string[]
  /** Present and former slugs of its items. */
  readonly former?: { readonly collection: AnyCollection; readonly storedFields: readonly string[] } | undefined
  readonly identity: {
    readonly name: string
    readonly plural: string
    /** Key field of the path and the answer. */
    readonly key: string
    /** Answers of create and update hold the item under this name. */
    readonly wrapped?: string | undefined
    /** Path field of the container. */
    readonly container?: string | undefined
  }
  /** False: changes store no versions, and deletions store no trash. */
  readonly hasHistory: boolean
  /** Returns an item in the form of answers. */
  // biome-ignore lint/suspicious/noExplicitAny: the registry holds items of every type.
  show(item: any): Readonly<Record<string, unknown>>
  readonly changes: {
    /** Stages a deleted item as a new one, in its container. Throws `already_exists`, `not_found`. */
    restore(call: ResourceCall, trashed: StoredTrash, container?: { readonly id: string }): Promise<{ readonly id: string }>
    /** Stages the fields of an earlier version. Throws `not_found`. */
    restoreVersion(call: ResourceCall, version: StoredVersion): Promise<{ readonly id: string; readonly revision: number }>
  }
  readonly create: AnyOperation
  readonly list?: AnyOperation | undefined
  readonly get: AnyOperation
  readonly update: AnyOperation
  readonly delete?: AnyOperation | undefined
}

/** The loaded resources. */
export const Resources: DeclarationKind<DeclaredResource> = { kind: "resource", nameOf: ({ identity }) => identity.name }

/** The collections of a resource. */
export function collectionsOf({ collection, former }: DeclaredResource): readonly CollectionSpec[] {
  return former ? [collection, former.collection] : [collection]
}

/** The operations of a resource. */
export function operationsOf({ create, list, get, update, delete: remove }: DeclaredResource): readonly AnyOperation[] {
  return [create, list, get, update, remove].filter((operation) => operation !== undefined)
}
