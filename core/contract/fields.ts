// Fields that many declarations share, as zod schemas, with the words that errors and documentation show.
import { z } from "zod"

/** A name for documents and URLs: lower-case letters, digits and `-`. */
export const Slug = z
  .string()
  .min(1)
  .max(100)
  .regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, "lower-case letters, digits and single hyphens, such as website-leads")
  .describe("Stable handle: lower-case letters, digits and hyphens.")

/** The id of anything that is kept. */
export const Uuid = z.uuid().describe("UUID.")

/** Wherever a slug is used in a path a UUID is accepted too. */
export const SlugOrId = z.string().min(1).max(100).describe("Slug or UUID.")

/** A time as documents and answers have it. */
export const Timestamp = z.iso.datetime().describe("RFC 3339 in UTC with milliseconds.")

/** A name for people, trimmed. */
export const Name = z.string().trim().min(1).max(200).describe("Name for people.")

/** The slug of a name: lower case, ASCII where it decomposes to it, everything else a hyphen; empty when nothing is left. */
export function slugOf(name: string): string {
  return name
    .normalize("NFKD")
    .replace(/[\u0300-\u036f]/g, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 80)
    .replace(/-+$/, "")
}
