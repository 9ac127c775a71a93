// Finds a declared collection by its stored name. A test that reads or writes stored documents needs no file of the plugin.
import type { CollectionSpec, Document } from "../../core/contract/collection.ts"
import { Collections } from "../../core/contract/collection.ts"
import type { Registry } from "../../core/kernel/registry.ts"

interface Service {
  readonly runtime: { readonly registry: Registry }
}

/** Returns the collection for `store.open` and `work.in`. `Fields` are the fields that the test reads. */
export function collectionNamed<Fields extends object = object>(
  { runtime }: Service,
  name: string,
): CollectionSpec<Document & Fields, never> {
  const spec = runtime.registry.get(Collections, name)
  if (!spec) throw new Error(`No plugin declares the collection "${name}".`)
  return spec as CollectionSpec<Document & Fields, never>
}
