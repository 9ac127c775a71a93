// The secret that a document takes from a variable, beside the one that its pipeline has. As with every field, the document
// is what is to be, unless the server's was changed since: a secret that was rotated there is never gone over unasked.
import { type PipelineDocument, redacted } from "#core/engine"
import type { AppliedFile, PipelineRecord, SecretKeeper } from "../../pipelines/index.ts"
import type { ReadDocument } from "./given.ts"
import type { FieldChange } from "./plan.ts"

/**
 * `other`: the variable holds another than it did when the document was applied last. `rotated`: the pipeline has another
 * than it had then, and not the one that is given.
 */
export type Standing = "not given" | "missing" | "same" | "other" | "rotated"

/** While one is being rotated out, the secret that stays is the one that counts. */
export function standingOf({ secret }: Pick<ReadDocument, "secret">, stored: PipelineRecord, keeper: SecretKeeper): Standing {
  if (secret === undefined) return "not given"
  if (hasNoSecret(stored)) return "missing"
  const lasting = lastingSecret(stored)
  if (lasting && keeper.holds(stored.id, lasting, secret)) return "same"
  return lasting?.id === stored.file?.applied_secret ? "other" : "rotated"
}

/** The secret that a pipeline takes with the next apply; undefined where it has it, or none is given. */
export function takenSecret({ secret }: Pick<ReadDocument, "secret">, standing: Standing): string | undefined {
  return standing === "same" ? undefined : secret
}

/** That a secret is taken, without what it is. */
export function secretChange(standing: Standing): FieldChange[] {
  if (standing === "not given" || standing === "same") return []
  if (standing === "missing") return [{ field: "auth_config.secret", before: "not set", after: "from its variable" }]
  return [{ field: "auth_config.secret", before: redacted, after: redacted }]
}

/** What to note of the file. A secret that is given and there counts as applied, however it came there. */
export function markOf(given: ReadDocument, stored: PipelineRecord, standing: Standing): AppliedFile {
  const applied = standing === "same" ? lastingSecret(stored)?.id : stored.file?.applied_secret
  return { ...given.mark, unset: waits(given, stored), applied_secret: applied ?? null }
}

function lastingSecret({ secrets }: PipelineRecord): PipelineRecord["secrets"][number] | undefined {
  return secrets.find(({ ends_at }) => ends_at === null)
}

// A document whose secret is to come from a variable that is not set: its pipeline waits, proposed, with a generated secret
// that nobody has seen, and takes the secret as soon as the variable is set. As files are at start.

/** A variable that is gone takes nothing away from a pipeline that has its secret. */
function waits({ unset }: ReadDocument, stored: PipelineRecord | undefined): boolean {
  return unset !== undefined && (stored === undefined || hasNoSecret(stored))
}

/** A generated one does not count; that of a pipeline made on the server is somebody's. */
function hasNoSecret({ file, secrets }: PipelineRecord): boolean {
  return file?.unset === true || secrets.length === 0
}

/** The document given, in the state that it gets while its secret's variable is not set. */
export function wanted(given: ReadDocument, stored: PipelineRecord | undefined): PipelineDocument {
  return waits(given, stored) ? { ...given.document, state: "proposed" } : given.document
}

export function unsetWarnings(given: ReadDocument, stored: PipelineRecord | undefined): string[] {
  if (given.unset === undefined) return []
  const then = waits(given, stored) ? "the pipeline stays proposed. Set it and apply again" : "the pipeline keeps its secret"
  return [`unset-variable: ${given.path} takes its secret from ${given.unset}, which is not set: ${then}.`]
}
