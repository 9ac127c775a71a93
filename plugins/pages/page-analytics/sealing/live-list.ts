// Tells external readers which files make up the copy: replaced files stay beside them for queries in progress, and a copy
// that is being rebuilt grows in the same folder, so a reader of the whole folder would count rows twice. The list is
// written after each change of the live copy and before files are deleted, so that it never names a deleted file; a copy
// that lost files keeps its last list until another copy replaces it.
import type { Copy } from "../collections.ts"
import type { SegmentFiles } from "../segments/segment-files.ts"
import type { CopyStore } from "./copy-store.ts"

/** Another node that sealed meanwhile has the list made again; the next pass goes on where this one gives up. */
const tries = 8

export class LiveList {
  readonly #files: SegmentFiles
  /** By organization: the copy and revision that this node wrote last. */
  readonly #contents = new Map<string, string>()

  constructor(files: SegmentFiles) {
    this.#files = files
  }

  /** Other nodes may have written lists since. */
  forget(): void {
    this.#contents.clear()
  }

  /** Brings the list to the live copy as it is; also after its own write, which a slower one may have overtaken. */
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
