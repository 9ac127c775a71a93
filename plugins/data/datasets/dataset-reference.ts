// How a dataset is named where rows are written: by slug, or `<org-slug>.<dataset-slug>`; never by UUID.
import { z } from "zod"
import { AppError, isUuid } from "#core"

const slug = "[a-z0-9]+(?:-[a-z0-9]+)*"
const reference = new RegExp(`^(?:${slug}\\.)?${slug}$`)

export const DatasetReference = z
  .string()
  .min(1)
  .max(201)
  .regex(reference, "a slug such as leads, or <organization>.<dataset>")
  .refine((text) => !isUuid(text), "a slug, never a UUID; GET /v1/datasets lists slugs")
  .describe("Dataset to write to; created on save if it does not exist.")

/** The slug inside the caller's own organization. Throws `invalid_argument` for another organization's, and for a UUID. */
export function resolveReference(text: string, organizationSlug: string): string {
  const dot = text.indexOf(".")
  const own = dot === -1 ? text : text.slice(dot + 1)
  if (dot !== -1 && text.slice(0, dot) !== organizationSlug) {
    throw refusal(text, `names another organization; rows are written to datasets of "${organizationSlug}" only`)
  }
  if (isUuid(own)) throw refusal(text, "is a UUID; datasets are named by slug")
  return own
}

function refusal(text: string, why: string): AppError {
  return new AppError("invalid_argument", `dataset_slug: "${text}" ${why}.`, {
    reason: "invalid_fields",
    fields: [{ path: "dataset_slug", message: why }],
    retryable: false,
  })
}
