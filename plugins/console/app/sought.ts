// Things that the palette knows by their names: of each area that says so, page by page up to a bound, read when it is opened, and
// again after a while.
import { signal } from "@preact/signals"
import { call, me, type Row } from "./api.ts"
import { soughtAreas, viewOf } from "./contributions.ts"
import { hrefOfOne, idOf, type Kind, listField, mainKind, pageAfter } from "./paths.ts"
import { fieldsOf } from "./schema.ts"

export interface Target {
  readonly text: string
  readonly href: string
}

const known = signal<readonly Target[]>([])
const keptMs = 30_000
const limit = 200
/** Of each area, two thousand. */
const maxPages = 10
let readAt = 0
/** Whose they are. */
let owner: unknown

export function sought(): readonly Target[] {
  return owner === me.value ? known.value : []
}

export async function readSought(): Promise<void> {
  if (owner === me.value && Date.now() < readAt + keptMs) return
  owner = me.value
  readAt = Date.now()
  known.value = []
  const began = readAt
  await Promise.all(soughtAreas().map((area) => readArea(area, () => began === readAt)))
}

async function readArea(area: string, isWanted: () => boolean): Promise<void> {
  const kind = mainKind(area)
  const { list } = kind ?? {}
  if (!kind || !list) return
  const first = fieldsOf(list).some(([name]) => name === "limit") ? { limit } : {}
  let offset = 0
  let next: Readonly<Record<string, string>> | undefined = {}
  for (let page = 0; next && page < maxPages; page++) {
    const answer: Row | undefined = await call(list.name, { ...first, ...next }).catch(() => undefined)
    if (!answer || !isWanted()) return
    const rows = (answer[listField(list) ?? ""] ?? []) as readonly Row[]
    known.value = [...known.value, ...rows.map((row) => targetOf(row, kind, area))]
    next = pageAfter(list, answer, offset, rows.length)
    offset += rows.length
  }
}

function targetOf(row: Row, kind: Kind, area: string): Target {
  const id = idOf(row, kind)
  const called = [row["title"], row["name"], id].find((one) => typeof one === "string" && one !== "")
  const name = called === id || /^[\da-f]{8}-/.test(id) ? String(called) : `${String(called)} (${id})`
  return { text: `${viewOf(area).title}: ${name}`, href: hrefOfOne(kind, [id]) }
}
