// Reading a path as Liquid reads it: own properties only, negative indexes from the end, and `size`, `first` and `last`
// where the value has no such key of its own. Most templates are one path, and take this way for every event.
import { meter } from "./meter.ts"

export function lookup(scope: unknown, path: readonly (string | number)[]): unknown {
  let value = scope
  for (const key of path) {
    if (value === null || value === undefined) return undefined
    value = property(value, key)
  }
  return value
}

function property(holder: unknown, key: string | number): unknown {
  if (Array.isArray(holder)) {
    if (typeof key === "number") return holder.at(key)
    if (key === "first") return holder[0]
    if (key === "last") return holder.at(-1)
    if (key === "size") return holder.length
  }
  const object = Object(holder) as Record<string, unknown>
  if (Object.hasOwn(object, key)) return object[key]
  if (key !== "size") return undefined
  if (typeof holder !== "object" || holder === null) return typeof holder === "string" ? holder.length : undefined
  const { length } = Object.keys(holder)
  meter.spend(length)
  return length
}
