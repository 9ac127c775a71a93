// Merges sketches of one pipeline, from several nodes or periods.
import { earlier, later } from "../merged-document.ts"
import { limits, makeRoom, type PathSketch, type Sketch, type Tally } from "./sketch.ts"

/** Returns a merged copy. Events of `second` follow the events of `first`. */
export function mergeSketches(first: Sketch, second: Sketch): Sketch {
  if (first.events === 0) return structuredClone(second)
  const merged: Sketch = {
    ...structuredClone(first),
    events: first.events + second.events,
    rejected: first.rejected + second.rejected,
    sampled: first.sampled + second.sampled,
    first_at: second.first_at === "" ? first.first_at : earlier(first.first_at, second.first_at),
    last_at: later(first.last_at, second.last_at),
    truncated: first.truncated || second.truncated,
  }
  const known = new Map(merged.paths.map((one) => [one.path, one]))
  for (const one of second.paths) {
    const same = known.get(one.path)
    if (same) mergePath(same, one, first.events)
    else if (makeRoom(merged)) merged.paths.push(shifted(one, first.events))
  }
  return merged
}

function mergePath(into: PathSketch, from: PathSketch, offset: number): void {
  const moved = shifted(from, offset)
  into.seen = mergeTallies(into.seen, moved.seen)
  into.absent = into.absent && moved.absent ? mergeTallies(into.absent, moved.absent) : (into.absent ?? moved.absent)
  into.types = mergeLists(into.types, moved.types, ({ type }) => type)
  const values = into.values && moved.values && mergeLists(into.values, moved.values, ({ hash }) => String(hash))
  into.values = values && values.length > limits.values ? null : values
}

function mergeLists<T extends Tally>(first: readonly T[], second: readonly T[], keyOf: (one: T) => string): T[] {
  const known = new Map(first.map((one) => [keyOf(one), one]))
  for (const one of second) {
    const same = known.get(keyOf(one))
    known.set(keyOf(one), same ? { ...one, ...mergeTallies(same, one) } : one)
  }
  return [...known.values()]
}

function mergeTallies(a: Tally, b: Tally): Tally {
  const executions = b.rejected > 0 || a.rejected === 0 ? [...b.executions, ...a.executions] : [...a.executions, ...b.executions]
  return {
    events: a.events + b.events,
    rejected: a.rejected + b.rejected,
    first_at: earlier(a.first_at, b.first_at),
    last_at: later(a.last_at, b.last_at),
    first_n: Math.min(a.first_n, b.first_n),
    last_n: Math.max(a.last_n, b.last_n),
    executions: [...new Set(executions)].slice(0, limits.executions),
  }
}

function shifted(path: PathSketch, offset: number): PathSketch {
  const moved = structuredClone(path)
  const tallies = [moved.seen, ...(moved.absent ? [moved.absent] : []), ...moved.types, ...(moved.values ?? [])]
  for (const tally of tallies) {
    tally.first_n += offset
    tally.last_n += offset
  }
  return moved
}
