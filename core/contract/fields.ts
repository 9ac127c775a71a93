// Fields that many declarations share, as zod schemas, with the words that errors and documentation show.
import { z } from "zod"
import { timestamp } from "../kernel/clock.ts"

/** A name for documents and URLs: lower-case letters, digits and `-`. */
export const Slug = z
  .string()
  .min(1)
  .max(100)
  .regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, "lower-case letters, digits and single hyphens, such as website-leads")
  .describe("Stable handle: lower-case letters, digits and hyphens.")

/** The id of anything that is kept; taken in either case and kept in lower case (RFC 9562 section 4). */
export const Uuid = z.uuid().toLowerCase().describe("UUID.")

/** Wherever a slug is used in a path a UUID is accepted too; both are kept in lower case. */
export const SlugOrId = z.string().min(1).max(100).toLowerCase().describe("Slug or UUID.")

/** A time as documents and answers have it; one with an offset is taken, and made to be like the others, so that they compare as text. */
export const Timestamp = z.iso.datetime({ offset: true }).overwrite(inUtc).describe("RFC 3339; kept and answered in UTC with milliseconds.")

const earliest = Date.parse("0000-01-01T00:00:00.000Z")
const latest = Date.parse("9999-12-31T23:59:59.999Z")

/** Also called with what is no time, which has been refused by then. */
function inUtc(text: string): string {
  if (text.length === 24 && text.endsWith("Z")) return text
  const time = Date.parse(text)
  return Number.isNaN(time) ? text : timestamp(Math.min(Math.max(time, earliest), latest))
}

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
