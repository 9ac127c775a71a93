// Pipelines created by the service itself (page events). Callers may rename and disable such a pipeline, but cannot change its
// behaviour.
import { AppError, type Caller, isPerson } from "#core"
import type { PipelineDocument } from "#core/engine"
import type { PipelineRecord } from "./collections.ts"

export interface Reserved {
  readonly purpose: "page_events"
  /** Derived from the pipeline's use, so the pipeline is created once. */
  readonly id: string
}

/** Fields that do not affect the pipeline's behaviour. */
const free: ReadonlySet<string> = new Set(["name", "state", "slug"])

/** A field with its stored value is not a change, so it is allowed. */
export function refuseReservedChange(stored: PipelineDocument, given: Partial<PipelineDocument>): void {
  const changed = Object.entries(given).filter(
    ([field, value]) => !free.has(field) && !same(value, (stored as Readonly<Record<string, unknown>>)[field]),
  )
  if (changed.length === 0) return
  const message =
    "is reserved in a page-events pipeline: only its name and state may change. Disable it to turn analytics off for the page."
  throw new AppError("invalid_argument", `${changed[0]?.[0]}: ${message}`, {
    reason: "reserved_pipeline",
    fields: changed.map(([path]) => ({ path, message })),
  })
}

/** Throws `permission_denied` if an agent or a service changes the state of a disabled page-events pipeline. */
export function requirePersonToEnable(caller: Caller, stored: PipelineRecord, state: PipelineRecord["state"] | undefined): void {
  const isReturning = stored.purpose === "page_events" && stored.state !== "active" && state !== undefined && state !== stored.state
  if (!isReturning || isPerson(caller)) return
  const message = `state: the page-events pipeline "${stored.slug}" is ${stored.state}, and only a person enables it again. Ask a member to set the state with a key of their own, by REST or command.`
  throw new AppError("permission_denied", message, { reason: "persons_only", fields: [{ path: "state", message }] })
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(ordered(one)) === JSON.stringify(ordered(other))
}

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, inner]) => [key, ordered(inner)] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )
}
