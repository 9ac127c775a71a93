// Replaces segments of an organization's index. The last commit of the change has few parts. Parts of larger segments are
// committed before, a few at a time. The index first lists these segments as unfinished, so the parts of an interrupted change
// are removed later. Each commit fails as `aborted` if another node has changed the index.
import { changesOf, type Ids, type UnitOfWork, type UnitsOfWork } from "#core"
import { IndexCollection, type StoredIndex } from "../collections.ts"
import type { Draft } from "./index-worker.ts"
import type { Segments } from "./segments.ts"

/** Bound per commit. The text of these parts costs the main thread a few milliseconds. */
const maxPartsAtOnce = 4
const maxRemovedAtOnce = 256

export type Listed = StoredIndex["segments"][number]

export interface ChangeDeps {
  readonly ids: Ids
  readonly works: UnitsOfWork
  readonly segments: Segments
}

export class IndexChange {
  readonly #deps: ChangeDeps
  readonly #organization: string
  readonly #waiting: { readonly id: string; readonly texts: readonly string[] }[] = []
  readonly #gone: { readonly id: string; readonly parts: number }[]
  #index: StoredIndex
  /** Stored segments that stay. */
  kept: readonly Listed[]
  readonly added: Listed[] = []

  constructor(deps: ChangeDeps, organization: string, index: StoredIndex) {
    this.#deps = deps
    this.#organization = organization
    this.#index = index
    this.#gone = [...(index.unfinished ?? [])]
    this.kept = index.segments
  }

  /** Adds the draft's segment without the removed items. Stores a large segment at once. */
  async add(draft: Draft, removed?: ReadonlySet<string>): Promise<void> {
    const built = await draft.build(removed)
    if (!built) return
    const segment = { id: this.#deps.ids.uuid(), ...built }
    const waiting = this.#waiting.reduce((sum, { texts }) => sum + texts.length, 0)
    if (waiting + built.parts > maxPartsAtOnce) await this.#store(draft, segment)
    else this.#waiting.push({ id: segment.id, texts: await textsOf(draft, 0, built.parts) })
    this.added.push(segment)
  }

  remove(segments: readonly Listed[]): void {
    this.kept = this.kept.filter((segment) => !segments.includes(segment))
    this.#gone.push(...segments)
  }

  /** Stages the end of the change. */
  stage(work: UnitOfWork): void {
    const { segments } = this.#deps
    for (const { id, texts } of this.#waiting) segments.stage(work, this.#organization, id, texts)
    const isRemovedLater = this.#gone.reduce((sum, { parts }) => sum + parts, 0) > maxRemovedAtOnce
    if (!isRemovedLater) for (const { id, parts } of this.#gone) segments.remove(work, this.#organization, id, 0, parts)
    const next = { segments: [...this.kept, ...this.added], unfinished: isRemovedLater ? this.#gone : [] }
    setIndex(work, this.#index, { ...next, revision: this.#index.revision + 1 })
  }

  async #store(draft: Draft, { id, parts }: Listed): Promise<void> {
    const { works, segments } = this.#deps
    const { unfinished = [], revision } = this.#index
    const index = { ...this.#index, unfinished: [...unfinished, { id, parts }], revision: revision + 1 }
    await works.run((work) => setIndex(work, this.#index, index))
    this.#index = index
    for (let part = 0; part < parts; part += maxPartsAtOnce) {
      const texts = await textsOf(draft, part, Math.min(parts, part + maxPartsAtOnce))
      await works.run((work) => {
        segments.stage(work, this.#organization, id, texts, part)
        setIndex(work, index, index)
      })
    }
  }
}

/** Removes the parts of segments that the index no longer lists. */
export async function removeUnfinished({ works, segments }: Omit<ChangeDeps, "ids">, organization: string): Promise<void> {
  for (;;) {
    const index = await segments.index(organization)
    const [first, ...others] = index.unfinished ?? []
    if (!first) return
    const remaining = Math.max(0, first.parts - maxRemovedAtOnce)
    const unfinished = remaining > 0 ? [{ ...first, parts: remaining }, ...others] : others
    await works.run((work) => {
      segments.remove(work, organization, first.id, remaining, first.parts)
      setIndex(work, index, { ...index, unfinished, revision: index.revision + 1 })
    })
  }
}

async function textsOf(draft: Draft, from: number, end: number): Promise<string[]> {
  const texts: string[] = []
  for (let part = from; part < end; part++) texts.push(await draft.part(part))
  return texts
}

/** Stages the index. The commit fails as `aborted` if the stored revision differs from `before`. */
function setIndex(work: UnitOfWork, before: StoredIndex, { segments, unfinished = [], revision }: Omit<StoredIndex, "id">): void {
  const { id } = before
  const indexes = work.in(IndexCollection, id)
  const next = { segments, unfinished, revision }
  if (before.revision === 0) indexes.insert({ id, ...next })
  else indexes.update(id, { $set: changesOf(next) }, { where: { revision: before.revision } })
}
