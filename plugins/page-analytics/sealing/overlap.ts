// Rows have no number that counts commits: they are read in the order in which they were received, and one that was
// received earlier may be committed later (by this node or another). So each reading begins a little before where the
// last one ended, now and then a good deal before, and what was sealed already is passed over by id and version. A row
// written later still (a replay, a slow queue) leaves a note in its own commit. What none of these sees, because its
// commit hung for longer than the long overlap, the count of its day shows once that is over.

/** Of each reading. */
export const shortOverlapMs = 5_000
/** Of one reading in `longEveryMs`; versions of rows this old are kept in memory. */
export const longOverlapMs = 60_000
export const longEveryMs = 30_000
/** A row staged this long after its event was received leaves a note. Less than the short overlap by the time that a commit usually takes. */
export const lateMs = 3_000

export interface Known {
  readonly version: string
  readonly receivedAt: string
}

/** Rows of a copy that were received recently, and in which version they were sealed. */
export class RecentRows {
  readonly #rows = new Map<string, Known>()

  versionOf(id: string): string | undefined {
    return this.#rows.get(id)?.version
  }

  sealed(id: string, known: Known): void {
    this.#rows.set(id, known)
  }

  forget(id: string): void {
    this.#rows.delete(id)
  }

  dropBefore(receivedAt: string): void {
    for (const [id, known] of this.#rows) if (known.receivedAt < receivedAt) this.#rows.delete(id)
  }
}
