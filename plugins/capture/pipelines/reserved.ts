// Pipelines that the service makes for itself (page events): callers may rename and disable one;
// what it does stays as it was made.
import { AppError, type Caller, isPerson } from "#core"
import type { PipelineDocument } from "#core/engine"
import type { PipelineRecord } from "./collections.ts"

export interface Reserved {
  readonly purpose: "page_events"
  /** Derived from what the pipeline is for, so that it is made once. */
  readonly id: string
}

/** Fields that describe a pipeline without changing what it does. */
const free: ReadonlySet<string> = new Set(["name", "state", "slug"])

/** Naming a field as it is stored changes nothing, and is fine. */
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
