// Keys of items: a slug made of the name, a key of the caller, or the id.
import { z } from "zod"
import { Slug, SlugOrId, slugOf, slugTaken, Uuid, uniqueSlug } from "../contract/fields.ts"
import { type FormerSlugsSpec, slugOrFormer } from "./former-slugs.ts"
import type { Key, Shape } from "./spec.ts"

type SlugInput = { readonly slug: z.ZodOptional<typeof Slug> }

/** A slug. Without one in the call, the service makes it from the value of this field. `former` makes it changeable. */
export function slugFrom(from: string, former?: FormerSlugsSpec): Key<"slug", SlugInput> {
  const slug = Slug.optional().describe(`Made from the ${from} when absent, with -2 where that is taken.`)
  return { field: "slug", from, ...(former && { former }), input: { slug } }
}

/** The caller sets the key at the creation, for example the `key` of an agent. */
export function givenKey<const K extends string, V extends z.ZodType<string>>(field: K, schema: V): Key<K, Record<K, V>> {
  return { field, input: { [field]: schema } as Record<K, V> }
}

/**
 * The caller sets a name at the creation, such as a phone number. The id derives from the name. The schema normalizes the name.
 * `beside` has further inputs of the creation.
 */
export function namedKey<const K extends string, V extends z.ZodType<string, string>, E extends Shape = Record<never, never>>(
  field: K,
  schema: V,
  given: Required<Pick<Key<K, Record<K, V>>, "idOf" | "taken">>,
  beside?: E,
): Key<K, Record<K, V> & E> {
  return { field, input: { [field]: schema, ...beside } as Record<K, V> & E, ...given }
}

/** The id alone identifies an item. */
export const byId: Key<"id", Record<never, never>> = { field: "id", input: {} }

/** The path field of operations on one item. */
export function pathField({ field, former, idOf, input }: Key<string, Shape>, word: string): z.ZodType<string> {
  if (former) return slugOrFormer(word)
  if (idOf) return z.union([Uuid, input[field] as z.ZodType<string>]).describe(`The ${word}, or its id.`)
  if (field === "id") return Uuid.describe(`Id of the ${word}.`)
  return SlugOrId.describe(`${field === "slug" ? "Slug" : "Key"} or UUID of the ${word}.`)
}

/** The key of a new item, as a field of its document. Throws `already_exists` if another item has it. */
export async function keyOfNew(
  { field, from, taken }: Key<string, Shape>,
  input: Readonly<Record<string, unknown>>,
  word: string,
  isTaken: (key: string) => Promise<boolean>,
): Promise<Record<string, string>> {
  if (field === "id") return {}
  const given = input[field] as string | undefined
  if (given === undefined) return { [field]: await uniqueSlug(slugOf(String(input[from ?? ""]), word.replaceAll(" ", "-")), isTaken) }
  if (await isTaken(given)) throw taken?.(given) ?? slugTaken(`There is a ${word} "${given}" already; take another ${field}.`, field)
  return { [field]: given }
}
