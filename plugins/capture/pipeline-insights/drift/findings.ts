// Compares a pipeline's events with its schema and with earlier events. Finds new fields, missing fields, changed types and new
// enumeration values. Reads only sketches.
import { createHash } from "node:crypto"
import type { Json } from "#core"
import { earlier, later } from "../merged-document.ts"
import { mergeSketches } from "./merge.ts"
import type { HashOf } from "./observe.ts"
import { type Operation, patchOf } from "./patch.ts"
import { allows, type Place, SchemaPlaces } from "./schema-places.ts"
import { emptySketch, type JsonType, nameOf, type PathSketch, parentOf, type Sketch, type Tally, type TypeTally } from "./sketch.ts"

export type DriftKind = "new_field" | "field_gone" | "type_changed" | "enum_grew"

export interface Drift {
  /** Equal for differences of the same kind, path and types. */
  readonly id: string
  readonly kind: DriftKind
  readonly path: string
  readonly since: string
  readonly last_at: string
  readonly events: number
  /** Share of the events with the containing object, since the comparison began. */
  readonly share: number
  /** Number of events rejected because of this difference. */
  readonly rejected: number
  readonly executions: readonly string[]
  readonly types_before: readonly JsonType[]
  readonly types: readonly JsonType[]
  /** Number of new enumeration values. 0 for other kinds. */
  readonly new_values: number
  readonly patch: readonly Operation[]
  readonly message: string
}

export interface Compared {
  readonly schema: Json
  readonly baseline: Sketch | null
  readonly current: Sketch
  readonly hash: HashOf
}

/** Minimum number of events before a difference is new. The first events of a pipeline are the basis of comparison. */
export const learningEvents = 100
/** A field is gone after an absence of `gaps` times its usual gap, and of at least `minSilentEvents` events. */
const gaps = 20
const minSilentEvents = 50
const minSeen = 5
/** A path with more values is not an enumeration. */
const maxEnumeration = 12
const maxFindings = 100

export function driftOf({ schema, baseline, current, hash }: Compared): Drift[] {
  const places = new SchemaPlaces(schema)
  const before = new Map((baseline?.paths ?? []).map((one) => [one.path, one]))
  const learning = Math.max(0, learningEvents - (baseline?.events ?? 0))
  const containers = new Map(current.paths.map(({ path, seen }) => [path, seen.events]))
  const fresh = new Set<string>()
  const found: Drift[] = []
  const add = (given: Omit<Found, "share" | "schema">) => {
    const container = given.path === "" ? current.events : (containers.get(parentOf(given.path)) ?? current.events)
    found.push(drift({ ...given, schema, share: container === 0 ? 0 : Math.min(1, given.tally.events / container) }))
  }

  for (const path of [...current.paths].sort((a, b) => (a.path < b.path ? -1 : 1))) {
    const place = places.of(path.path)
    const known = before.get(path.path)
    const isNew = known === undefined && path.seen.first_n > learning
    const underFresh = fresh.has(parentOf(path.path))
    if (underFresh) {
      fresh.add(path.path)
      continue
    }
    if ((place.state === "refused" && path.seen.rejected > 0) || (isNew && place.state !== "declared")) {
      fresh.add(path.path)
      add({
        kind: "new_field",
        path: path.path,
        tally: path.seen,
        explains: place.state === "refused",
        types: path.types.map(({ type }) => type),
        place,
      })
      continue
    }
    for (const type of newTypes(path, known, place, learning)) {
      const types_before = (known ?? { types: path.types.filter((one) => one !== type && one.first_n <= type.first_n) }).types.map(
        (one) => one.type,
      )
      add({
        kind: "type_changed",
        path: path.path,
        tally: type,
        explains: !allows(place.types, type.type),
        types: [type.type],
        types_before,
        place,
      })
    }
    const grown = newValues(path, known, place, learning, hash)
    if (grown)
      add({
        kind: "enum_grew",
        path: path.path,
        tally: grown.tally,
        explains: place.values !== null,
        types: [],
        new_values: grown.count,
        place,
      })
    if (place.required && path.absent && path.absent.rejected > 0)
      add({ kind: "field_gone", path: path.path, tally: path.absent, explains: true, types: [], place })
  }
  addGone({ found, places, add, baseline, current })
  return found.sort((a, b) => b.rejected - a.rejected || (a.since < b.since ? 1 : -1)).slice(0, maxFindings)
}

/** Returns the baseline of the next comparison, without fields that are gone. */
export function settledBaseline(baseline: Sketch | null, current: Sketch): Sketch {
  const all = mergeSketches(baseline ?? emptySketch(), current)
  const gone = new Set(all.paths.filter((path) => isGone(path, all.events)).map(({ path }) => path))
  return { ...all, paths: all.paths.filter(({ path }) => !gone.has(path)) }
}

interface GoneArgs {
  readonly found: readonly Drift[]
  readonly places: SchemaPlaces
  readonly add: (given: Omit<Found, "share" | "schema">) => void
  readonly baseline: Sketch | null
  readonly current: Sketch
}

function addGone({ found, places, add, baseline, current }: GoneArgs): void {
  const all = mergeSketches(baseline ?? emptySketch(), current)
  const reported = new Set(found.filter(({ kind }) => kind === "field_gone").map(({ path }) => path))
  const gone = new Set<string>()
  for (const path of [...all.paths].sort((a, b) => (a.path < b.path ? -1 : 1))) {
    if (path.path === "" || path.path.endsWith("/?") || !isGone(path, all.events)) continue
    gone.add(path.path)
    if (gone.has(parentOf(path.path)) || reported.has(path.path)) continue
    const { seen, absent } = path
    const silent = Math.min(all.events - seen.last_n, current.events)
    const tally: Tally = {
      ...seen,
      events: silent,
      rejected: absent?.rejected ?? 0,
      first_at: seen.last_at,
      last_at: all.last_at,
      executions: absent?.executions ?? [],
    }
    const place = places.of(path.path)
    add({
      kind: "field_gone",
      path: path.path,
      tally,
      explains: place.required,
      types: [],
      types_before: path.types.map(({ type }) => type),
      place,
    })
  }
  // Required fields that never occurred.
  const known = new Set(all.paths.map(({ path }) => path))
  for (const container of current.paths.filter(({ seen, types }) => seen.rejected > 0 && types.some(({ type }) => type === "object"))) {
    for (const name of places.requiredAt(container.path)) {
      const path = `${container.path}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`
      if (!known.has(path)) add({ kind: "field_gone", path, tally: container.seen, explains: true, types: [], place: places.of(path) })
    }
  }
}

function isGone({ seen }: PathSketch, events: number): boolean {
  const silent = events - seen.last_n
  return seen.events >= minSeen && silent >= minSilentEvents && silent >= (gaps * seen.last_n) / seen.events
}

function newTypes(path: PathSketch, known: PathSketch | undefined, place: Place, learning: number): TypeTally[] {
  const before = known?.types ?? path.types.filter(({ first_n }) => first_n <= learning)
  return path.types.filter((one) => {
    if (!allows(place.types, one.type)) return one.rejected > 0
    if (place.types !== null || before.length === 0) return false
    return one.first_n > (known ? 0 : learning) && !before.some(({ type }) => type === one.type || (isNumber(type) && isNumber(one.type)))
  })
}

function isNumber(type: JsonType): boolean {
  return type === "integer" || type === "number"
}

function newValues(
  path: PathSketch,
  known: PathSketch | undefined,
  place: Place,
  learning: number,
  hash: HashOf,
): { tally: Tally; count: number } | undefined {
  if (!path.values) return undefined
  const declared = place.values?.map((value) => hash(path.path, value))
  const before =
    declared ?? (path.types.every(({ type }) => type === "string" || type === "null") ? usualValues(path, known, learning) : undefined)
  if (!before) return undefined
  const fresh = path.values.filter(
    (one) => !before.includes(one.hash) && (declared ? one.rejected > 0 : one.first_n > (known ? 0 : learning)),
  )
  const [first] = fresh
  if (!first) return undefined
  const tally = { ...first }
  for (const one of fresh.slice(1)) {
    tally.events += one.events
    tally.rejected += one.rejected
    tally.first_at = earlier(tally.first_at, one.first_at)
    tally.last_at = later(tally.last_at, one.last_at)
  }
  return { tally, count: fresh.length }
}

/** Returns hashes of a path's few values, or undefined if the path has too many values or too few events. */
function usualValues(path: PathSketch, known: PathSketch | undefined, learning: number): number[] | undefined {
  const values = known ? known.values : path.values?.filter(({ first_n }) => first_n <= learning)
  const events = known ? known.seen.events : learning
  if (!values || values.length === 0 || values.length > maxEnumeration) return undefined
  return events >= learningEvents && events >= 8 * values.length ? values.map((one) => one.hash) : undefined
}

interface Found {
  readonly kind: DriftKind
  readonly path: string
  readonly tally: Tally
  readonly share: number
  /** True if the schema refuses events because of the difference. */
  readonly explains: boolean
  readonly types: readonly JsonType[]
  readonly types_before?: readonly JsonType[]
  readonly new_values?: number
  readonly place: Place
  readonly schema: Json
}

function drift({ kind, path, tally, share, explains, types, types_before = [], new_values = 0, place, schema }: Found): Drift {
  const patch = patchOf({ kind, path, types, place, schema, explains })
  const told = { kind, path, types, types_before, new_values }
  return {
    id: createHash("sha256")
      .update(`${kind} ${path} ${types.join(" ")}`)
      .digest("hex")
      .slice(0, 12),
    ...told,
    since: tally.first_at,
    last_at: tally.last_at,
    events: tally.events,
    share: Math.round(share * 10_000) / 10_000,
    rejected: explains ? tally.rejected : 0,
    executions: tally.executions,
    patch,
    message: messageOf(told),
  }
}

function messageOf({
  kind,
  path,
  types,
  types_before,
  new_values,
}: Pick<Drift, "kind" | "path" | "types" | "types_before" | "new_values">): string {
  const field = path === "" ? "The event" : path.endsWith("*") ? `Each of ${parentOf(path)}` : `The field ${path}`
  if (kind === "new_field") return `${field} was not seen before (${types.join(", ")}).`
  if (kind === "field_gone") return `${field} is missing where it was, or must be.`
  if (kind === "type_changed")
    return `${field} is ${types.join(", ")}${types_before.length > 0 ? `, and was ${types_before.join(", ")}` : ""}.`
  return `${field} has ${new_values} ${new_values === 1 ? "value" : "values"} that ${nameOf(path) === "*" ? "they" : "it"} did not have.`
}
