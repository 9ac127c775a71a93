// The difference of a change, short enough to store for a year. Long texts are reduced to the differing part, large documents to
// the differing fields. Unchanged content is cut first.
import { isDeepStrictEqual } from "node:util"
import type { Json } from "../../contract/collection.ts"
import { isRecord } from "../../kernel/json.ts"
import { withoutSecrets } from "./redact.ts"

/** Maximum length of a recorded text, in characters. */
const maxText = 500
/** Maximum length of each side of a change, in characters of JSON. */
const maxLength = 4_000
const maxItems = 100
/** Characters of unchanged text on either side of a difference. */
const context = 30
/** Marks a field missing on one side. */
const absent = Symbol("absent")
type Side = Json | typeof absent

/** Returns an audited value without secrets. */
export function summary(value: Readonly<Record<string, unknown>>, alsoSecret: readonly string[] = []): Json {
  return difference(null, value, alsoSecret).after
}

/** Returns both sides of a change without secrets. The side of a missing document is null. */
export function difference(before: unknown, after: unknown, alsoSecret: readonly string[] = []): { before: Json; after: Json } {
  const old = withoutSecrets(before, alsoSecret)
  const now = withoutSecrets(after, alsoSecret)
  const sides = (shorten: (one: Side, other: Side) => Side) => ({ before: sideOf(shorten(old, now)), after: sideOf(shorten(now, old)) })
  const whole = sides((one, other) => shortened(one, other, maxText))
  if (fits(whole) && (old === null || now === null || !(hasLongList(old) || hasLongList(now)))) return whole
  // With only one side, all content is new. Only shorter texts save space.
  for (const limit of old === null || now === null ? [200, 80] : [maxText, 200, 80]) {
    const changed = sides((one, other) => truncated(shortened(changedOf(one, other), changedOf(other, one), limit)))
    if (fits(changed)) return changed
  }
  return sides(byField)
}

function fits({ before, after }: { before: Json; after: Json }): boolean {
  return JSON.stringify(before).length <= maxLength && JSON.stringify(after).length <= maxLength
}

/** Differences may lie behind the recorded items. */
function hasLongList(value: Json): boolean {
  if (typeof value !== "object" || value === null) return false
  return (Array.isArray(value) && value.length > maxItems) || Object.values(value).some(hasLongList)
}

function sideOf(side: Side): Json {
  return side === absent ? null : side
}

function truncated(side: Side): Side {
  return isRecord(side) ? { truncated: true, ...side } : side
}

/** Shortens texts and lists. The part around a difference stays. */
function shortened(one: Side, other: Side, limit: number): Side {
  if (typeof one === "string") return shortText(one, typeof other === "string" ? other : undefined, limit)
  if (Array.isArray(one)) {
    const others = Array.isArray(other) ? other : []
    const items = one.slice(0, maxItems).map((item, n) => sideOf(shortened(item, others[n] ?? absent, limit)))
    return one.length > maxItems ? [...items, `… (${one.length - maxItems} more)`] : items
  }
  if (!isRecord(one)) return one
  return Object.fromEntries(Object.entries(one).map(([name, inner]) => [name, sideOf(shortened(inner, fieldOf(other, name), limit))]))
}

/** Reduces a value to its differences from the other side, at every depth. Unchanged items are counted. */
function changedOf(one: Side, other: Side): Side {
  if (Array.isArray(one) && Array.isArray(other)) {
    const { start, end } = sharedEnds(one, other)
    const items = one.slice(start, one.length - end).map((item, n) => {
      const opposite = n + start < other.length - end ? other[n + start] : undefined
      return sideOf(changedOf(item, opposite ?? absent))
    })
    return [...unchanged(start), ...items, ...unchanged(end)]
  }
  if (!isRecord(one) || !isRecord(other)) return one
  const differing = Object.entries(one).filter(([name, inner]) => !isDeepStrictEqual(inner, fieldOf(other, name)))
  const same = Object.keys(one).length - differing.length
  const fields = differing.map(([name, inner]) => [name, sideOf(changedOf(inner, fieldOf(other, name)))])
  return { ...Object.fromEntries(fields), ...(same > 0 ? { "…": `${same} unchanged` } : {}) }
}

function unchanged(count: number): string[] {
  return count > 0 ? [`… (${count} unchanged)`] : []
}

/** Last resort: the differing fields as text. Every field gets an equal share of the space. */
function byField(one: Side, other: Side): Side {
  if (!isRecord(one)) return typeof one === "symbol" ? one : shortText(textOf(one), other === absent ? undefined : textOf(other), maxText)
  const differing = Object.keys(one).filter((name) => !isDeepStrictEqual(one[name], fieldOf(other, name)))
  const shown = differing.slice(0, 50)
  const each = Math.floor(maxLength / Math.max(1, shown.length) / 2)
  const fields = shown.map((name) => {
    const theirs = fieldOf(other, name)
    return [name.slice(0, 200), shortText(textOf(one[name] ?? null), theirs === absent ? undefined : textOf(theirs), each)]
  })
  const left = differing.length - shown.length
  return { truncated: true, ...Object.fromEntries(fields), ...(left > 0 ? { "…": `${left} more` } : {}) }
}

/** Shortens a text to about `limit` characters. With another text, the part around the difference stays. */
function shortText(text: string, other: string | undefined, limit: number): string {
  if (text.length <= limit) return text
  if (other === undefined || other === text) return `${text.slice(0, limit).toWellFormed()}… (${text.length} characters)`
  const { start, end } = sharedEnds(text, other)
  const from = Math.max(0, start - context)
  const to = Math.min(text.length, text.length - end + context)
  const part = text.slice(from, to)
  const cut = part.length > limit ? `${part.slice(0, limit)}… (${part.length} characters)` : part
  const before = from > 0 ? `(${from} the same) …` : ""
  const after = to < text.length ? `… (${text.length - to} the same)` : ""
  return (before + cut + after).toWellFormed()
}

/** Counts the equal items at the start and at the end. */
function sharedEnds(one: ArrayLike<Json>, other: ArrayLike<Json>): { start: number; end: number } {
  const most = Math.min(one.length, other.length)
  let start = 0
  while (start < most && same(one[start], other[start])) start++
  let end = 0
  while (end < most - start && same(one[one.length - 1 - end], other[other.length - 1 - end])) end++
  return { start, end }
}

function same(one: unknown, other: unknown): boolean {
  return one === other || (typeof one === "object" && isDeepStrictEqual(one, other))
}

function textOf(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value)
}

function fieldOf(side: Side, name: string): Side {
  return isRecord(side) && Object.hasOwn(side, name) ? (side[name] ?? null) : absent
}
