// Stores the event index: the list of segments, updated under its revision, and the parts.
import { type Store, timestamp, type UnitOfWork, type UnitsOfWork } from "#core"
import { type Posting, packUuids, parts, uuidAt, uuidBytes } from "#core/search"
import {
  blockId,
  blockIds,
  type EventIndex,
  EventIndexCollection,
  type EventIndexPart,
  EventIndexPartCollection,
  postingsId,
  type Segment,
} from "../collections.ts"

/** A search reads one block per candidate, so blocks are small. */
export const idsPerBlock = 128
const dayMs = 86_400_000
const partsPerCommit = 64
const readAtOnce = 100

export async function readIndex(store: Store, organization: string): Promise<EventIndex> {
  const found = await store.open(EventIndexCollection, organization).get(organization)
  return found ?? { id: organization, through: "", segments: [], revision: 0 }
}

/** The commit fails with `aborted` if another node changed the index. */
export function stageIndex(work: UnitOfWork, index: EventIndex, { through, segments }: Pick<EventIndex, "through" | "segments">): void {
  const next = { through, segments: segments.map((segment) => ({ ...segment })), revision: index.revision + 1 }
  const indexes = work.in(EventIndexCollection, index.id)
  if (index.revision === 0) indexes.insert({ id: index.id, ...next })
  else indexes.update(index.id, { $set: next }, { where: { revision: index.revision } })
}

export interface PartWriter {
  readonly works: UnitsOfWork
  readonly payloadsDays: number
}

/**
 * Writes parts with the expiry of their entries' payloads. Parts of an unlisted segment expire too. Calls `rest` after each part,
 * so a lazy generator of parts runs in pieces.
 */
export async function writeParts(
  { works, payloadsDays, rest }: PartWriter & { readonly rest: () => Promise<void> },
  organization: string,
  { to }: Segment,
  given: Iterable<Filed>,
): Promise<void> {
  const expires_at = timestamp(Date.parse(to) + payloadsDays * dayMs)
  let waiting: Filed[] = []
  const write = async () => {
    const parts = waiting
    waiting = []
    await works.run((work) => {
      for (const part of parts) work.in(EventIndexPartCollection, organization).insert({ ...part, expires_at })
    })
  }
  for (const part of given) {
    if (waiting.push(part) === partsPerCommit) await write()
    await rest()
  }
  if (waiting.length > 0) await write()
}

export async function removeParts({ works }: PartWriter, organization: string, segments: readonly Segment[]): Promise<void> {
  const ids = segments.flatMap((segment) => [
    ...Array.from({ length: 2 ** segment.bits }, (_, part) => postingsId(segment.id, part)),
    ...blockIds(segment),
  ])
  for (let from = 0; from < ids.length; from += partsPerCommit) {
    await works.run((work) => {
      const collection = work.in(EventIndexPartCollection, organization)
      for (const id of ids.slice(from, from + partsPerCommit)) collection.remove(id, { optional: true })
    })
  }
}

type Filed = Pick<EventIndexPart, "id" | "base64">

export function* blocksOf(segment: string, ids: readonly string[]): Generator<Filed> {
  for (let from = 0, block = 0; from < ids.length; from += idsPerBlock)
    yield { id: blockId(segment, block++), base64: packUuids(ids.slice(from, from + idsPerBlock)).toString("base64") }
}

/** Returns one ID of a block without decoding the others, or undefined beyond the last ID. */
export function idAt(base64: string, at: number): string | undefined {
  const first = at * uuidBytes
  // Three bytes are four base64 characters.
  const group = Math.floor(first / 3)
  const bytes = Buffer.from(base64.slice(4 * group, 4 * Math.ceil((first + uuidBytes) / 3)), "base64")
  return uuidAt(bytes.subarray(first - 3 * group), 0)
}

export function* partsOf(segment: string, postings: Iterable<Posting>, bits: number): Generator<Filed> {
  for (const { part, base64 } of parts(postings, bits)) yield { id: postingsId(segment, part), base64 }
}

/** Returns the parts by ID, without missing parts. */
export async function readParts(store: Store, organization: string, ids: readonly string[]): Promise<Map<string, string>> {
  const collection = store.open(EventIndexPartCollection, organization)
  const groups = Array.from({ length: Math.ceil(ids.length / readAtOnce) }, (_, n) => ids.slice(n * readAtOnce, (n + 1) * readAtOnce))
  const found = await Promise.all(groups.map((group) => collection.find({ id: { $in: [...group] } }, { limit: group.length })))
  return new Map(found.flat().map(({ id, base64 }) => [id, base64]))
}
