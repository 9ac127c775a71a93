// Required states and variants of an experiment.
import { AppError } from "#core"
import type { ExperimentStatus, StoredExperiment } from "./collections.ts"

/** Throws `failed_precondition` unless the experiment has one of the statuses. */
export function requireStatus(
  { slug, status }: { readonly slug: string; readonly status: ExperimentStatus },
  allowed: readonly ExperimentStatus[],
  what: string,
): void {
  if (allowed.includes(status)) return
  throw new AppError("failed_precondition", `${what} needs the status ${allowed.join(" or ")}; the experiment "${slug}" is ${status}.`, {
    reason: "wrong_status",
    status,
  })
}

/** Throws `invalid_argument` naming the field for a key that the experiment lacks. */
export function requireVariant({ slug, variants }: StoredExperiment, key: string, path = "variant_key"): void {
  if (variants.some((variant) => variant.key === key)) return
  const message = `the experiment "${slug}" has no variant "${key}"; it has ${variants.map((variant) => variant.key).join(", ") || "none"}`
  throw new AppError("invalid_argument", `${path}: ${message}.`, { reason: "variant_unknown", fields: [{ path, message }] })
}
