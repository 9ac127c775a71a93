// Publishes the list of the copy's files for external readers. The folder also contains replaced files and files of a rebuild, so
// a reader of the whole folder would count rows twice. The list is written after each change of the live copy and before files
// are deleted, so it never names a deleted file. A copy with lost files keeps its last list until a new copy replaces it.
import type { Copy } from "../collections.ts"
import type { SegmentFiles } from "../segments/segment-files.ts"
import type { CopyStore } from "./copy-store.ts"

/** A concurrent change by another node requires a new list. After these attempts, the next pass continues. */
const tries = 8

export class LiveList {
  readonly #files: SegmentFiles
  /** By organization: the copy and revision of this node's last list. */
  readonly #contents = new Map<string, string>()

  constructor(files: SegmentFiles) {
    this.#files = files
  }

  /** Call when other nodes may have written lists. */
  forget(): void {
    this.#contents.clear()
  }

  /** Writes the list of the live copy. Checks again after the write, since a slower write may have overtaken it. */
  async write(copies: CopyStore): Promise<void> {
    const { organization } = copies
    for (let attempt = 0; attempt < tries; attempt++) {
      const { live } = await copies.copies()
      if (!live || live.lost || this.#contents.get(organization) === stateOf(live)) return
      const segments = await copies.segments(live)
      const { live: now } = await copies.copies()
      if (!now || stateOf(now) !== stateOf(live)) continue
      await this.#files.list(organization, segments)
      this.#contents.set(organization, stateOf(live))
    }
  }
}

function stateOf({ id, revision }: Copy): string {
  return `${id} ${revision}`
}
