// Adds one event to a sketch. Each path counts at most once per event.
import { createHmac } from "node:crypto"
import type { Json } from "#core"
import { childPointer } from "#core/engine"
import { type JsonType, limits, makeRoom, type PathSketch, parentOf, type Sketch, type Tally } from "./sketch.ts"

export interface Sighting {
  readonly at: string
  readonly execution: string
  readonly rejected: boolean
  /** Number of events this event represents, including itself. */
  readonly weight: number
}

const maxHashed = 256

export type HashOf = (path: string, value: Json) => number

/** Returns a keyed 16-bit hash. Many values share each hash, so a hash does not reveal its value. */
export function hasher(key: Buffer, pipelineId: string): HashOf {
  const seed = createHmac("sha256", key).update(pipelineId).digest()
  const [first, second] = [seed.readInt32LE(0), seed.readInt32LE(4)]
  return (path, value) => {
    const start = mixed(first, path)
    const hash = mixed(Math.imul(mixed(start, typeof value), second), String(value))
    return (hash ^ (hash >>> 16)) & 0xffff
  }
}

/** FNV-1a over the start of a text, from a secret state. The bound keeps the cost per event low. */
function mixed(state: number, text: string): number {
  let hash = state ^ text.length
  for (let at = 0; at < Math.min(text.length, maxHashed); at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
    hash ^= hash >>> 15
  }
  return hash
}

export function observe(sketch: Sketch, payload: Json, sighting: Sighting, hash: HashOf): void {
  const { at, weight, rejected } = sighting
  sketch.events += weight
  if (rejected) sketch.rejected += weight
  sketch.sampled++
  if (sketch.first_at === "") sketch.first_at = at
  sketch.last_at = at
  new Walk(sketch, sighting, hash).event(payload)
}

function note(tally: Tally | null | undefined, { at, execution, rejected, weight }: Sighting, n: number): Tally {
  if (!tally)
    return {
      events: weight,
      rejected: rejected ? weight : 0,
      first_at: at,
      last_at: at,
      first_n: n,
      last_n: n,
      executions: [execution],
    }
  tally.events += weight
  tally.last_at = at
  tally.last_n = n
  const better = rejected || tally.rejected === 0
  if (rejected) tally.rejected += weight
  if (better) tally.executions = [execution, ...tally.executions].slice(0, limits.executions)
  return tally
}

class Walk {
  readonly #sketch: Sketch
  readonly #sighting: Sighting
  readonly #hash: HashOf
  readonly #byPath: Map<string, PathSketch>
  readonly #children = new Map<string, PathSketch[]>()
  /** Already counted parts of this event. */
  readonly #counted = new Set<string>()
  #nodes = 0

  constructor(sketch: Sketch, sighting: Sighting, hash: HashOf) {
    this.#sketch = sketch
    this.#sighting = sighting
    this.#hash = hash
    this.#byPath = new Map(sketch.paths.map((one) => [one.path, one]))
    for (const one of sketch.paths) {
      if (one.path === "") continue
      const parent = parentOf(one.path)
      const siblings = this.#children.get(parent)
      if (siblings) siblings.push(one)
      else this.#children.set(parent, [one])
    }
  }

  event(payload: Json): void {
    this.#value("", payload, 0)
  }

  #value(path: string, value: Json, depth: number): void {
    if (++this.#nodes > limits.nodes) {
      this.#sketch.truncated = true
      return
    }
    const known = this.#seen(path)
    const type = typeOf(value)
    if (known) this.#typed(known, type, value)
    if (type !== "object" && type !== "array") return
    if (depth >= limits.depth) {
      this.#sketch.truncated = true
      return
    }
    if (Array.isArray(value)) this.#items(path, value, depth)
    else this.#fields(path, value as Record<string, Json>, depth)
  }

  #items(path: string, items: readonly Json[], depth: number): void {
    if (items.length > limits.items) this.#sketch.truncated = true
    for (let at = 0; at < Math.min(items.length, limits.items); at++) this.#value(`${path}/*`, items[at] ?? null, depth + 1)
  }

  #fields(path: string, fields: Record<string, Json>, depth: number): void {
    let names = 0
    for (const name in fields) {
      if (!Object.hasOwn(fields, name)) continue
      if (++names > limits.names) {
        this.#sketch.truncated = true
        break
      }
      this.#value(isName(name) ? childPointer(path, name) : `${path}/?`, fields[name] ?? null, depth + 1)
    }
    for (const child of this.#children.get(path) ?? []) {
      const name = child.path.slice(path.length + 1)
      if (name === "?" || name === "*" || Object.hasOwn(fields, name.replaceAll("~1", "/").replaceAll("~0", "~"))) continue
      if (this.#first(`absent ${child.path}`)) child.absent = note(child.absent, this.#sighting, this.#sketch.events)
    }
  }

  #seen(path: string): PathSketch | undefined {
    const known = this.#byPath.get(path)
    if (known) {
      if (this.#first(path)) note(known.seen, this.#sighting, this.#sketch.events)
      return known
    }
    if (!makeRoom(this.#sketch)) return undefined
    this.#first(path)
    const made: PathSketch = { path, seen: note(null, this.#sighting, this.#sketch.events), absent: null, types: [], values: [] }
    this.#sketch.paths.push(made)
    this.#byPath.set(path, made)
    return made
  }

  #typed(known: PathSketch, type: JsonType, value: Json): void {
    const { path, types } = known
    if (this.#first(`${type} ${path}`)) {
      const same = types.find((one) => one.type === type)
      if (same) note(same, this.#sighting, this.#sketch.events)
      else types.push({ type, ...note(null, this.#sighting, this.#sketch.events) })
    }
    if (known.values === null || (type !== "string" && type !== "integer")) return
    const hash = this.#hash(path, value)
    if (!this.#first(`${hash} ${path}`)) return
    const same = known.values.find((one) => one.hash === hash)
    if (same) note(same, this.#sighting, this.#sketch.events)
    else if (known.values.length < limits.values) known.values.push({ hash, ...note(null, this.#sighting, this.#sketch.events) })
    else known.values = null
  }

  #first(what: string): boolean {
    if (this.#counted.has(what)) return false
    this.#counted.add(what)
    return true
  }
}

function typeOf(value: Json): JsonType {
  if (value === null) return "null"
  if (Array.isArray(value)) return "array"
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number"
  return typeof value as JsonType
}

const namePattern = /^[@#$_]?[\p{L}_][\p{L}\p{N}_.:$ -]*$/u

/** Returns false for data in place of a name (mail addresses, numbers, IDs). The sketch does not store data. */
function isName(name: string): boolean {
  return name.length <= limits.nameLength && namePattern.test(name) && !/\d{5}|[0-9a-f]{8}-?[0-9a-f]{4}/i.test(name)
}
