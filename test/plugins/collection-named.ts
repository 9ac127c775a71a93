// Finds a declared collection by its stored name. Tests can read or write stored documents without importing the plugin's files.
import type { CollectionSpec, Document } from "../../core/contract/collection.ts"
import { Collections } from "../../core/contract/collection.ts"
import type { Registry } from "../../core/kernel/registry.ts"

interface Service {
  readonly runtime: { readonly registry: Registry }
}

/** Returns the collection for `store.open` and `work.in`. `Fields` are the fields read by the test. */
export function collectionNamed<Fields extends object = object>(
  { runtime }: Service,
  name: string,
): CollectionSpec<Document & Fields, never> {
  const spec = runtime.registry.get(Collections, name)
  if (!spec) throw new Error(`No plugin declares the collection "${name}".`)
  return spec as CollectionSpec<Document & Fields, never>
}
