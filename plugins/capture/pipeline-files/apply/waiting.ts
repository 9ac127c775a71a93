// A document whose secret is to come from a variable that is not set: its pipeline waits, proposed, with a generated secret
// that nobody has seen, and takes the secret as soon as the variable is set. As files are at start.
import type { PipelineDocument } from "#core/engine"
import type { PipelineRecord } from "../../pipelines/index.ts"
import type { ReadDocument } from "./given.ts"

/** A variable that is gone takes nothing away from a pipeline that has its secret. */
export function waits({ unset }: ReadDocument, stored: PipelineRecord | undefined): boolean {
  return unset !== undefined && (stored === undefined || hasNoSecret(stored))
}

/** A generated one does not count; that of a pipeline made on the server is somebody's. */
export function hasNoSecret({ file, secrets }: PipelineRecord): boolean {
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
