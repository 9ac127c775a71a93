// The shape of a pipeline's events: names, types and counts within bounds, without values. Possible enumeration values are stored
// as keyed 16-bit hashes. A hash shows that a value is new, without revealing the value.
import { defineCollection } from "#core"
import type { CountedDocument } from "../merged-document.ts"

// The sketch of a pipeline's events, before and since its current document.

export interface DriftRecord extends CountedDocument {
  /** Digest of the compared document. A document with another digest starts a new comparison. */
  digest: string
  revision: number
  /** The master key of the value hashes. Hashes under another key cannot be compared. */
  key_id: string
  baseline: Sketch | null
  current: Sketch
  /** IDs of the differences announced on the live channel. */
  told: string[]
}

/** `id` is the pipeline's ID. */
export const SchemaSketches = defineCollection<DriftRecord>()({
  name: "event_schema_sketches",
  scope: "organization",
  times: [],
  indexes: [],
  audit: "none",
  statistics: true,
})

export const jsonTypes = ["object", "array", "string", "integer", "number", "boolean", "null"] as const
export type JsonType = (typeof jsonTypes)[number]

export const limits = {
  paths: 200,
  depth: 6,
  /** Bound per object. */
  names: 100,
  nameLength: 64,
  /** Bound per array. */
  items: 20,
  /** Values inspected per event. */
  nodes: 2_000,
  /** Distinct values per path. A path with more values is not an enumeration. */
  values: 32,
  executions: 2,
} as const

/** Number of events and their times. `first_n` and `last_n` are positions in the sequence of events. */
export interface Tally {
  events: number
  rejected: number
  first_at: string
  last_at: string
  first_n: number
  last_n: number
  /** The newest executions. Rejected executions come first. */
  executions: string[]
}

export interface TypeTally extends Tally {
  type: JsonType
}

export interface ValueTally extends Tally {
  hash: number
}

export interface PathSketch {
  /** JSON Pointer, with `*` for array items and `?` for names that are data (addresses, IDs). */
  path: string
  seen: Tally
  /** Events with the containing object but without this path. */
  absent: Tally | null
  types: TypeTally[]
  /** null if there were too many values for an enumeration. */
  values: ValueTally[] | null
}

export interface Sketch {
  /** Estimated if events were sampled. */
  events: number
  rejected: number
  /** Number of inspected events. */
  sampled: number
  first_at: string
  last_at: string
  paths: PathSketch[]
  /** True if a bound was reached and the sketch is incomplete. */
  truncated: boolean
}

export function emptySketch(): Sketch {
  return { events: 0, rejected: 0, sampled: 0, first_at: "", last_at: "", paths: [], truncated: false }
}

/** Returns "" for the whole event. */
export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"))
}

export function nameOf(path: string): string {
  return path
    .slice(path.lastIndexOf("/") + 1)
    .replaceAll("~1", "/")
    .replaceAll("~0", "~")
}

/** Makes room for a new path by removing a rare one. Returns false if all paths are frequent. */
export function makeRoom(sketch: Sketch): boolean {
  if (sketch.paths.length < limits.paths) return true
  sketch.truncated = true
  const rare = sketch.paths.findIndex(({ seen }) => seen.events <= 2 && seen.last_n + 50 < sketch.events)
  if (rare < 0) return false
  sketch.paths.splice(rare, 1)
  return true
}
