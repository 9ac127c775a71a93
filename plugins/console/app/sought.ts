// Resources for the palette by name. Each participating area is read page by page up to a limit. The data loads when the palette
// opens, and again after some time.
import { signal, useSignal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import { call, me, type Operation, operations, type Row } from "./api.ts"
import { inBackground } from "./connection.ts"
import { searchedAreas, viewOf } from "./contributions.ts"
import { hrefOfOne, idOf, type Kind, listField, mainKind, pageAfter } from "./paths.ts"
import { fieldsOf } from "./schema.ts"

export interface Target {
  readonly text: string
  readonly href: string
}

const targets = signal<readonly Target[]>([])
const cacheMs = 30_000
const limit = 200
/** Up to two thousand for each area. */
const maxPages = 10
let readAt = 0
/** The session of the cached targets. */
let owner: unknown

export function searchTargets(): readonly Target[] {
  return owner === me.value ? targets.value : []
}

export async function readSought(): Promise<void> {
  if (owner === me.value && Date.now() < readAt + cacheMs) return
  owner = me.value
  readAt = Date.now()
  targets.value = []
  const startedAt = readAt
  // An unreadable area has no entries.
  await Promise.allSettled(searchedAreas().map((area) => readArea(area, () => startedAt === readAt)))
}

async function readArea(area: string, isWanted: () => boolean): Promise<void> {
  const kind = mainKind(area)
  if (!kind?.list) return
  await readPages(kind.list, (rows) => {
    if (isWanted()) targets.value = [...targets.value, ...rows.map((row) => targetOf(row, kind, area))]
    return isWanted()
  })
}

/** Returns the first two thousand rows of a list, for selection by name. */
export function useRows(name: string | undefined): readonly Row[] {
  const signalRows = useSignal<readonly Row[]>([])
  useEffect(() => {
    const list = operations.value.find((operation) => operation.name === name)
    if (!list) return
    let isWanted = true
    inBackground(
      readPages(list, (rows) => {
        if (isWanted) signalRows.value = [...signalRows.value, ...rows]
        return isWanted
      }),
    )
    return () => {
      isWanted = false
    }
  }, [name])
  return signalRows.value
}

/** Reads page by page until `take` returns false. */
async function readPages(list: Operation, take: (rows: readonly Row[]) => boolean): Promise<void> {
  const first = fieldsOf(list).some(([name]) => name === "limit") ? { limit } : {}
  let offset = 0
  let next: Readonly<Record<string, string>> | undefined = {}
  for (let page = 0; next && page < maxPages; page++) {
    const answer: Row | undefined = await call(list.name, { ...first, ...next }).catch(() => undefined)
    if (!answer) return
    const rows = (answer[listField(list) ?? ""] ?? []) as readonly Row[]
    if (!take(rows)) return
    next = pageAfter(list, answer, offset, rows.length)
    offset += rows.length
  }
}

function targetOf(row: Row, kind: Kind, area: string): Target {
  const id = idOf(row, kind)
  const label = [row["title"], row["name"], id].find((value) => typeof value === "string" && value !== "")
  const name = label === id || /^[\da-f]{8}-/.test(id) ? String(label) : `${String(label)} (${id})`
  return { text: `${viewOf(area).title}: ${name}`, href: hrefOfOne(kind, [id]) }
}
