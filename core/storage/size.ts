// Estimates the bytes of a commit without encoding. The estimate is sufficient for bounds of queues and groups.
import type { Commit } from "../contract/store.ts"

const perWrite = 64

export function sizeOf(commit: Commit): number {
  let bytes = perWrite
  for (const write of commit.writes) {
    bytes += perWrite + sizeOfValue("doc" in write ? write.doc : write.kind === "update" ? write.update : undefined)
  }
  return bytes
}

function sizeOfValue(value: unknown): number {
  if (typeof value === "string") return value.length + 3
  if (typeof value !== "object" || value === null) return 8
  let bytes = 2
  if (Array.isArray(value)) {
    for (const each of value) bytes += sizeOfValue(each)
    return bytes
  }
  // for…in avoids an array for every object of every commit, unlike Object.entries.
  for (const key in value) bytes += key.length + 4 + sizeOfValue((value as Record<string, unknown>)[key])
  return bytes
}
