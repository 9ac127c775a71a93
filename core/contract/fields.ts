// Shared fields as zod schemas, with the words for errors and documentation.
import { createHash } from "node:crypto"
import { isDeepStrictEqual } from "node:util"
import anyAscii from "any-ascii"
import { z } from "zod"
import { timestamp } from "../kernel/clock.ts"
import { AppError } from "../kernel/errors.ts"
import { isUuid } from "../kernel/ids.ts"
import type { Json } from "./collection.ts"

/** A name for documents and URLs: lower-case letters, digits and `-`. */
export const Slug = z
  .string()
  .min(1)
  .max(100)
  .regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, "lower-case letters, digits and single hyphens, such as website-leads")
  .refine((text) => !isUuid(text), "a slug, not a UUID: wherever a slug is taken, a UUID is read as an id")
  .describe("Stable identifier: lower-case letters, digits and hyphens.")

/** The id of any stored item. Accepts upper and lower case; stored in lower case (RFC 9562 section 4). */
export const Uuid = z.uuid().toLowerCase().describe("UUID.")

/** A slug or UUID in a path. Both are stored in lower case. */
export const SlugOrId = z.string().min(1).max(100).toLowerCase().describe("Slug or UUID.")

/** A time in documents and answers. An offset is converted to UTC, so times compare as text. */
export const Timestamp = z.iso
  .datetime({ offset: true })
  .overwrite(inUtc)
  .describe("RFC 3339; stored and returned in UTC with milliseconds.")

/** Any JSON value, checked in one pass. `z.json()` tries six schemas for each inner value. */
export const AnyJson = z.unknown().superRefine((value, { addIssue }) => {
  if (!isJson(value)) addIssue({ code: "invalid_type", expected: "json", input: value })
}) as unknown as z.ZodType<Json, Json>

function isJson(value: unknown): boolean {
  if (value === null || typeof value === "string" || typeof value === "boolean") return true
  if (typeof value === "number") return Number.isFinite(value)
  if (Array.isArray(value)) return value.every(isJson)
  if (typeof value !== "object") return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return (prototype === Object.prototype || prototype === null) && Object.values(value).every(isJson)
}

const earliest = Date.parse("0000-01-01T00:00:00.000Z")
const latest = Date.parse("9999-12-31T23:59:59.999Z")

/** Also runs for invalid times. The schema has refused them already. */
function inUtc(text: string): string {
  if (text.length === 24 && text.endsWith("Z")) return text
  const time = Date.parse(text)
  return Number.isNaN(time) ? text : timestamp(Math.min(Math.max(time, earliest), latest))
}

/** A name for people, trimmed. */
export const Name = z.string().trim().min(1).max(200).describe("Display name.")

/**
 * Returns the slug of a name: lower case, decomposed to ASCII, other characters as hyphens. A name without Latin letters is
 * transliterated. An empty result or a UUID becomes `kind` and eight digits of its hash. The slug of a name never changes, since
 * a file's slug is its identity.
 */
export function slugOf(name: string, kind: string): string {
  const slug = hyphenated(/\p{Script=Latin}/u.test(name) ? name : anyAscii(name))
  return slug === "" || isUuid(slug) ? `${kind}-${createHash("sha256").update(name).digest("hex").slice(0, 8)}` : slug
}

const maxNumbered = 100

/** Returns the slug, or the slug with the first free number from 2. The unique index separates concurrent callers. */
export async function uniqueSlug(slug: string, isTaken: (slug: string) => Promise<boolean> | boolean): Promise<string> {
  for (let n = 1; n <= maxNumbered; n++) {
    const numbered = n === 1 ? slug : `${slug}-${n}`
    if (!(await isTaken(numbered))) return numbered
  }
  throw slugTaken(`"${slug}" and ${maxNumbered - 1} numbered variants are taken; give a slug or another name.`)
}

/** The error for a taken slug. `path` is the input field with the slug. */
export function slugTaken(message: string, path = "slug"): AppError {
  return new AppError("already_exists", message, { reason: "slug_taken", fields: [{ path, message: "taken" }] })
}

function hyphenated(name: string): string {
  return name
    .normalize("NFKD")
    .replace(/[\u0300-\u036f]/g, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 80)
    .replace(/-+$/, "")
}

// Fields visible in reads and fixed in updates. An update accepts their current values, so an edited GET answer can be sent back.
// A different value is refused.

/** The documentation of a read-only field. */
export const readOnlyNote = "Read-only; accepted if unchanged."

type ReadOnlyShape<N extends string> = Record<N, z.ZodOptional<typeof AnyJson>>

/** Input fields of an update, by name. */
export function readOnlyInput<const N extends string>(names: readonly N[]): ReadOnlyShape<N> {
  const field = AnyJson.optional().meta({ description: readOnlyNote, readOnly: true })
  return Object.fromEntries(names.map((name) => [name, field])) as ReadOnlyShape<N>
}

/** Returns the input without read-only fields. Throws `invalid_argument` with each read-only field that differs from `shown`. */
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
