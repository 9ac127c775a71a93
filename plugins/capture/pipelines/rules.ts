// Rules of a save outside the compiler: purposes and promotion, fields fixed at creation, and secrets of auth modes.
import { z } from "zod"
import { AppError, type Caller, roleAtLeast, type Store } from "#core"
import {
  AuthModes,
  type Declarations,
  EntryCollection,
  isFedFromInside,
  type JournalEntry,
  type PipelineDocument,
  type PipelineSource,
  redacted,
  type StoredPipeline,
} from "#core/engine"
import type { PipelineRecord } from "./collections.ts"

/**
 * Write steps promote the purpose to `record_capture`, even from an explicit `custom`. Throws if `record_capture` has no write
 * step.
 */
export function purposeOf(asked: PipelineDocument["purpose"], writesTo: readonly string[]): PipelineDocument["purpose"] {
  if (asked === "page_events") {
    throw invalid(
      "purpose",
      "page_events is reserved: the service creates such a pipeline for each published page. Use record_capture or custom.",
    )
  }
  if (writesTo.length > 0) return "record_capture"
  if (asked === "record_capture")
    throw invalid("purpose", "record_capture needs at least one dataset.write action; add one, or use custom.")
  return asked
}

export interface SecretPlan {
  /** Plain text to store, or null without a secret. */
  readonly secret: string | null
  readonly generated: boolean
  /** Warning about a secret that the operator must still supply. */
  readonly warning: string | undefined
}

/** Plans the secret of a new pipeline from its auth mode and the given secret. */
export function planSecret(
  declared: Declarations,
  document: PipelineDocument,
  given: string | undefined,
  generate: () => string,
): SecretPlan {
  const { mode, config, need } = secretNeed(declared, document)
  if (need === "none") {
    if (given !== undefined) throw invalid("auth_config.secret", `the auth mode ${document.auth_mode} carries no secret; leave it out.`)
    return { secret: null, generated: false, warning: undefined }
  }
  if (given !== undefined) {
    mode.checkSecret?.(given, config)
    return { secret: given, generated: false, warning: undefined }
  }
  if (need === "generated") return { secret: generate(), generated: true, warning: undefined }
  const warning =
    "missing-secret: this provider issues the secret itself. No event verifies until you give it by rotate-secret (or the provider delivers it in its handshake)."
  return { secret: null, generated: false, warning }
}

/** Returns the auth mode of a document, its parsed config, and its need for a secret. */
export function secretNeed(declared: Declarations, document: PipelineDocument) {
  const mode = declared.get(AuthModes, document.auth_mode)
  if (!mode) throw invalid("auth_mode", `no plugin provides the auth mode "${document.auth_mode}".`)
  const { secret: _, ...rest } = document.auth_config
  const config: unknown = mode.config.parse(rest)
  return { mode, config, need: mode.secret(config) }
}

/** Returns the creator of the secrets for a document's auth mode. Returns null if the mode needs no secret or is not installed. */
export function secretMaker(declared: Declarations, document: PipelineDocument): "service" | "sender" | null {
  if (!declared.get(AuthModes, document.auth_mode)) return null
  return ({ none: null, generated: "service", provided: "sender" } as const)[secretNeed(declared, document).need]
}

/** Internal pipelines have no endpoint, so their auth mode is `none`. The default mode is replaced by `none`. */
export function internalAuth<D extends PipelineDocument>(document: D, secret: string | undefined): D {
  if (!isFedFromInside(document.source_kind) || document.auth_mode === "none") return document
  const untouched = document.auth_mode === "hmac_sha256" && secret === undefined && Object.keys(document.auth_config).length === 0
  if (untouched) return { ...document, auth_mode: "none" }
  throw invalid(
    "auth_mode",
    `a pipeline of source_kind ${document.source_kind} has no inbound endpoint, so its auth mode must be none, not ${document.auth_mode}.`,
  )
}

/** Returns the file data after a change of the secret alone, which is not drift. */
export function stillApplied({ file, revision }: PipelineRecord): PipelineRecord["file"] {
  return file?.applied_revision === revision ? { ...file, applied_revision: revision + 1 } : file
}

/** Separates the secret from a given auth_config. */
export function splitSecret(given: PipelineDocument["auth_config"]): {
  config: PipelineDocument["auth_config"]
  secret: string | undefined
} {
  const { secret, ...config } = given
  if (secret === undefined || secret === redacted) return { config, secret: undefined }
  if (typeof secret !== "string" || secret === "") throw invalid("auth_config.secret", "a secret is a non-empty string.")
  return { config, secret }
}

/** Source and auth are fixed at creation. Their stored values are allowed. */
export function refuseFixed(
  stored: PipelineDocument,
  given: Partial<Pick<PipelineDocument, "source_kind" | "auth_mode" | "auth_config">>,
): void {
  const fixed = (field: string) => invalid(field, "is fixed at creation. Create a new pipeline, or use rotate-secret for a new secret.")
  if (given.source_kind !== undefined && given.source_kind !== stored.source_kind) throw fixed("source_kind")
  if (given.auth_mode !== undefined && given.auth_mode !== stored.auth_mode) throw fixed("auth_mode")
  if (given.auth_config !== undefined) {
    const { config: named, secret } = splitSecret(given.auth_config)
    // Redacted values from a read may be sent back.
    const config = Object.fromEntries(
      Object.entries(named).map(([name, value]) => [name, value === redacted ? (stored.auth_config[name] ?? value) : value]),
    )
    if (secret !== undefined || canonical(config) !== canonical(stored.auth_config)) throw fixed("auth_config")
  }
}

function canonical(config: PipelineDocument["auth_config"]): string {
  return JSON.stringify(Object.entries(config).sort(([a], [b]) => (a < b ? -1 : 1)))
}

export function invalid(path: string, message: string): AppError {
  return new AppError("invalid_argument", `${path}: ${message}`, { reason: "invalid_fields", fields: [{ path, message }] })
}

/** Guests cannot read payloads, rows and previews. */
export function seesPayloads(caller: Caller): boolean {
  return caller.role !== "guest"
}

export const Force = z.boolean().default(false).describe("Run it even if the pipeline is disabled; for admins. The entry records it.")

/** Only admins may run a disabled pipeline. */
export function refuseForce(force: boolean, { role }: Caller): void {
  if (!force || roleAtLeast(role, "admin")) return
  throw new AppError("permission_denied", `force requires the role admin; this key has the role ${role}.`, { reason: "role_too_low" })
}

/** Returns the pipeline as the engine runs it, by slug or UUID. Throws `not_found`. */
export async function requirePipeline(source: PipelineSource, organization: string, reference: string): Promise<StoredPipeline> {
  const stored = await source.bySlug(organization, reference)
  if (!stored) throw new AppError("not_found", `The event pipeline "${reference}" does not exist.`, { reason: "event_pipeline_not_found" })
  return stored
}

/** Returns an execution of the pipeline. Throws `not_found`. */
export async function requireEntry(store: Store, organization: string, pipeline: PipelineRecord, id: string): Promise<JournalEntry> {
  const entry = await store.open(EntryCollection, organization).get(id)
  if (entry?.pipeline_id === pipeline.id) return entry
  throw new AppError("not_found", `The pipeline "${pipeline.slug}" has no execution ${id}.`, { reason: "execution_not_found" })
}
