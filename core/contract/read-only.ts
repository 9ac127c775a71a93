// Fields that a read shows and a change cannot set. An update takes them as they were read, so that what a GET answered can
// be edited and sent back; one that differs is refused.
import { isDeepStrictEqual } from "node:util"
import type { z } from "zod"
import { AppError } from "../kernel/errors.ts"
import { AnyJson } from "./fields.ts"

/** What the documentation says of such a field. */
export const readOnlyNote = "Read-only; accepted if unchanged."

type ReadOnlyShape<N extends string> = Record<N, z.ZodOptional<typeof AnyJson>>

/** Input fields of an update, by name. */
export function readOnlyInput<const N extends string>(names: readonly N[]): ReadOnlyShape<N> {
  const field = AnyJson.optional().meta({ description: readOnlyNote, readOnly: true })
  return Object.fromEntries(names.map((name) => [name, field])) as ReadOnlyShape<N>
}

/** What is left to change. Throws `invalid_argument` naming each read-only field that is not as `shown`. */
export function omitReadOnly<T extends Readonly<Record<string, unknown>>>(
  given: T,
  shown: Readonly<Record<string, unknown>>,
  names: readonly string[],
): Partial<T> {
  const fields = names
    .filter((name) => given[name] !== undefined && !isDeepStrictEqual(given[name], shown[name]))
    .map((path) => ({ path, message: `is ${JSON.stringify(shown[path])} and cannot be changed; leave it out.` }))
  if (fields.length > 0)
    throw new AppError("invalid_argument", `"${fields[0]?.path}" ${fields[0]?.message}`, { reason: "read_only_field", fields })
  return Object.fromEntries(Object.entries(given).filter(([name]) => !names.includes(name))) as Partial<T>
}
