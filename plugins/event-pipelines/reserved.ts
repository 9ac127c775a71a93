// Pipelines that the service makes for itself (specification 2.11, page events): callers may rename and disable one;
// what it does stays as it was made.
import { AppError } from "#core"
import type { PipelineDocument } from "#core/engine"

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
