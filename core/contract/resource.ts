// A declared resource, as the registry holds it: a collection with the operations on it. core/resource makes it.
import type { DeclarationKind } from "../kernel/registry.ts"
import type { CollectionSpec } from "./collection.ts"
import type { AnyOperation } from "./operation.ts"

// biome-ignore lint/suspicious/noExplicitAny: the registry holds documents of every type.
type AnyCollection = CollectionSpec<any, "organization">

export interface DeclaredResource {
  readonly collection: AnyCollection
  /** Fields of its documents. */
  readonly storedFields: readonly string[]
  /** Present and former slugs of its items. */
  readonly former?: { readonly collection: AnyCollection; readonly storedFields: readonly string[] } | undefined
  readonly identity: {
    readonly name: string
    readonly plural: string
    /** Field of the path and of the answer that names an item. */
    readonly key: string
    /** Answers of create and update hold the item under this name. */
    readonly wrapped?: string | undefined
    /** Path field of the resource that contains it. */
    readonly container?: string | undefined
  }
  readonly create: AnyOperation
  readonly list: AnyOperation
  readonly get: AnyOperation
  readonly update: AnyOperation
  readonly delete: AnyOperation
}

export const Resources: DeclarationKind<DeclaredResource> = { kind: "resource", nameOf: ({ collection }) => collection.name }

/** The collections of a resource. */
export function collectionsOf({ collection, former }: DeclaredResource): readonly CollectionSpec[] {
  return former ? [collection, former.collection] : [collection]
}

/** The operations of a resource. */
export function operationsOf({ create, list, get, update, delete: remove }: DeclaredResource): readonly AnyOperation[] {
  return [create, list, get, update, remove]
}
