// What is known of the shape of a pipeline's events: names, types and counts, within bounds, and no value. Of values
// that may be an enumeration, a keyed hash of 16 bits is kept, which tells that one is new and never which.
import { defineCollection } from "#core"
import type { CountedDocument } from "../merged-document.ts"

// The sketch of each pipeline's events, before and since its present document.

export interface DriftRecord extends CountedDocument {
  /** Of what the comparison is about: a document that says otherwise begins another. */
  digest: string
  revision: number
  /** The master key whose hashes of values these are; under another they say nothing. */
  key_id: string
  baseline: Sketch | null
  current: Sketch
  /** Ids of the differences that were told live. */
  told: string[]
}

/** `id` is the pipeline's. */
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
  /** Of one object. */
  names: 100,
  nameLength: 64,
  /** Of one array. */
  items: 20,
  /** Values looked at in one event. */
  nodes: 2_000,
  /** Distinct values of a path; with more it is not an enumeration. */
  values: 32,
  executions: 2,
} as const

/** How often, since when; `first_n` and `last_n` are positions in the sequence of events. */
export interface Tally {
  events: number
  rejected: number
  first_at: string
  last_at: string
  first_n: number
  last_n: number
  /** The newest executions, those that were rejected before others. */
  executions: string[]
}

export interface TypeTally extends Tally {
  type: JsonType
}

export interface ValueTally extends Tally {
  hash: number
}

export interface PathSketch {
  /** JSON Pointer, with `*` for the items of an array and `?` for names that are data (addresses, ids). */
  path: string
  seen: Tally
  /** Where what contains it came without it. */
  absent: Tally | null
  types: TypeTally[]
  /** null once there were too many to be an enumeration. */
  values: ValueTally[] | null
}

export interface Sketch {
  /** Estimated where events were sampled. */
  events: number
  rejected: number
  /** Events that were looked at. */
  sampled: number
  first_at: string
  last_at: string
  paths: PathSketch[]
  /** Whether a bound was met, so that something is not in here. */
  truncated: boolean
}

export function emptySketch(): Sketch {
  return { events: 0, rejected: 0, sampled: 0, first_at: "", last_at: "", paths: [], truncated: false }
}

/** "" for the whole event, which has no container. */
export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"))
}

export function nameOf(path: string): string {
  return path
    .slice(path.lastIndexOf("/") + 1)
    .replaceAll("~1", "/")
    .replaceAll("~0", "~")
}

/** A path that is there more than rarely gives way to none. */
export function makeRoom(sketch: Sketch): boolean {
  if (sketch.paths.length < limits.paths) return true
  sketch.truncated = true
  const rare = sketch.paths.findIndex(({ seen }) => seen.events <= 2 && seen.last_n + 50 < sketch.events)
  if (rare < 0) return false
  sketch.paths.splice(rare, 1)
  return true
}
