// How documents are keyed. Two organizations may hold the same id in one collection, so `_id` of an organization's
// document is "<organization>/<id>": unique in each, in the order of ids within one, and a range of its own, so that a
// read without any other index stays inside the organization. A global document's `_id` is its id.
import { AppError } from "../../kernel/errors.ts"

export function keyOf(organization: string | undefined, id: string): string {
  return organization === undefined ? id : `${prefixOf(organization)}${id}`
}

export function idOf(organization: string | undefined, key: string): string {
  return organization === undefined ? key : key.slice(organization.length + 1)
}

/** The keys of one organization: from `$gte` to below `$lt` ("0" is the character after "/"). */
export function rangeOf(organization: string): { $gte: string; $lt: string } {
  return { $gte: prefixOf(organization), $lt: `${organization}0` }
}

function prefixOf(organization: string): string {
  // Without a slash in it, no organization's keys can be another's: the first slash ends it.
  if (organization === "" || organization.includes("/")) {
    throw new AppError("invalid_argument", `organization ${JSON.stringify(organization)} cannot own documents: it is empty or holds "/".`, {
      reason: "invalid_option",
    })
  }
  return `${organization}/`
}
