// Compares a document's secret from a variable with the pipeline's secret. The document usually wins, as for every field. A
// secret rotated on the server is overwritten only with `force`.
import { type PipelineDocument, redacted } from "#core/engine"
import type { AppliedFile, PipelineRecord, SecretKeeper } from "../../pipelines/index.ts"
import type { ReadDocument } from "./given.ts"
import type { FieldChange } from "./plan.ts"

/**
 * `other`: the variable has changed since the last apply. `rotated`: the pipeline's secret was rotated since the last apply, and
 * differs from the variable.
 */
export type Standing = "not given" | "missing" | "same" | "other" | "rotated"

/** During a rotation, the secret without an end date counts. */
export function standingOf({ secret }: Pick<ReadDocument, "secret">, stored: PipelineRecord, keeper: SecretKeeper): Standing {
  if (secret === undefined) return "not given"
  if (hasNoSecret(stored)) return "missing"
  const lasting = lastingSecret(stored)
  if (lasting && keeper.holds(stored.id, lasting, secret)) return "same"
  return lasting?.id === stored.file?.applied_secret ? "other" : "rotated"
}

/** Returns the secret to store with the next apply, or undefined if it is unchanged or missing. */
export function takenSecret({ secret }: Pick<ReadDocument, "secret">, standing: Standing): string | undefined {
  return standing === "same" ? undefined : secret
}

/** Returns the change of the secret without its value. */
export function secretChange(standing: Standing): FieldChange[] {
  if (standing === "not given" || standing === "same") return []
  if (standing === "missing") return [{ field: "auth_config.secret", before: "not set", after: "from its variable" }]
  return [{ field: "auth_config.secret", before: redacted, after: redacted }]
}

/** Returns the file data to store. A matching secret counts as applied, regardless of its origin. */
export function markOf(given: ReadDocument, stored: PipelineRecord, standing: Standing): AppliedFile {
  const applied = standing === "same" ? lastingSecret(stored)?.id : stored.file?.applied_secret
  return { ...given.mark, unset: waits(given, stored), applied_secret: applied ?? null }
}

function lastingSecret({ secrets }: PipelineRecord): PipelineRecord["secrets"][number] | undefined {
  return secrets.find(({ ends_at }) => ends_at === null)
}

// The variable of a document's secret may be unset. Its pipeline then stays `proposed` with a generated secret, and takes the
// secret once the variable is set. Files at start behave the same way.

/** A pipeline with a secret keeps the secret if the variable is unset later. */
function waits({ unset }: ReadDocument, stored: PipelineRecord | undefined): boolean {
  return unset !== undefined && (stored === undefined || hasNoSecret(stored))
}

/**
 * A secret generated for an unset variable does not count. The secret of a pipeline created on the server does: a sender may use
 * it.
 */
function hasNoSecret({ file, secrets }: PipelineRecord): boolean {
  return file?.unset === true || secrets.length === 0
}

/** Returns the given document. Its state is `proposed` while its variable is unset. */
export function wanted(given: ReadDocument, stored: PipelineRecord | undefined): PipelineDocument {
  return waits(given, stored) ? { ...given.document, state: "proposed" } : given.document
}

export function unsetWarnings(given: ReadDocument, stored: PipelineRecord | undefined): string[] {
  if (given.unset === undefined) return []
  const then = waits(given, stored) ? "the pipeline stays proposed. Set it and apply again" : "the pipeline keeps its secret"
  return [`unset-variable: ${given.path} takes its secret from ${given.unset}, which is not set: ${then}.`]
}
