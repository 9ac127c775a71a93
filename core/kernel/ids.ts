// Ids as a dependency: UUIDs in time order (version 7, RFC 9562 section 5.7), monotonic within a process. Also UUIDs
// derived from names (version 8, section 5.8), for things that need the same id again.
import { hash, randomFillSync } from "node:crypto"
import type { Clock } from "./clock.ts"
import { token } from "./di.ts"

/** Source of new ids: UUIDs in time order. */
export interface Ids {
  /** Returns a new UUIDv7. Each is greater than the last, even within a millisecond or after the clock steps back. */
  uuid(): string
}

export const Ids = token<Ids>("Ids")

const poolSize = 8_192

export function timeOrderedIds(clock: Clock): Ids {
  const pool = Buffer.allocUnsafe(poolSize)
  let used = poolSize
  let lastTime = 0
  let sequence = 0
  let [timeOf, prefix] = [-1, ""]
  return {
    uuid() {
      if (used + 8 > poolSize) {
        randomFillSync(pool)
        used = 0
      }
      const now = clock.now()
      if (now > lastTime) {
        lastTime = now
        sequence = pool.readUInt16BE(used) & 0x7ff
      } else if (++sequence > 0xfff) {
        lastTime++
        sequence = 0
      }
      if (timeOf !== lastTime) {
        const time = lastTime.toString(16).padStart(12, "0")
        prefix = `${time.slice(0, 8)}-${time.slice(8)}-7`
        timeOf = lastTime
      }
      const random = pool.toString("hex", used + 2, used + 8)
      const variant = (0x8000 | (pool.readUInt16BE(used) & 0x3fff)).toString(16)
      used += 8
      return `${prefix}${sequence.toString(16).padStart(3, "0")}-${variant}-${random}`
    },
  }
}

/** Returns a UUIDv8 from SHA-256 of the parts. Parts are length-prefixed, so ("a", "bc") and ("ab", "c") differ. */
export function derivedUuid(...parts: string[]): string {
  return formatUuid(hashOf(parts), 8)
}

/** Returns the time prefix of a UUIDv7 with a hash of the parts: derived, and still in time order. */
export function derivedUuidInOrder(uuidv7: string, ...parts: string[]): string {
  return uuidv7.slice(0, 13) + formatUuid(hashOf([uuidv7, ...parts]), 8).slice(13)
}

/** Returns a lower bound of all ids made in or after this millisecond. */
export function idAt(milliseconds: number): string {
  const time = Math.max(0, milliseconds).toString(16).padStart(12, "0")
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`
}

/** Returns the creation time of a UUID in time order, in milliseconds. */
export function timeOfId(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}

function hashOf(parts: string[]): string {
  let text = ""
  for (const part of parts) text += `${Buffer.byteLength(part)}:${part}`
  return hash("sha256", text, "hex")
}

function formatUuid(hex: string, version: number): string {
  const variant = ((Number.parseInt(hex.slice(16, 18), 16) & 0x3f) | 0x80).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${version}${hex.slice(13, 16)}-${variant}${hex.slice(18, 20)}-${hex.slice(20, 32)}`
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Returns true for a lower-case UUID. */
export function isUuid(text: string): boolean {
  return uuidPattern.test(text)
}
