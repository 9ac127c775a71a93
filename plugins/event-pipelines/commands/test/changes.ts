// What changes in some folders, for `test --watch`: nothing is lost that changes while nobody waits for it.
import { existsSync, watch } from "node:fs"
import { join } from "node:path"

/** Editors write a file in several steps. */
const settledMs = 50

export class Changes {
  readonly #folders = new Set<string>()
  readonly #changed = new Set<string>()
  readonly #stop = new AbortController()
  #due = false
  #wake = () => {}

  /** Looks at these folders too from now on; passes over what is not there. */
  watch(folders: Iterable<string>): void {
    for (const folder of folders) {
      if (this.#folders.has(folder) || !existsSync(folder)) continue
      this.#folders.add(folder)
      watch(folder, { signal: this.#stop.signal }, (_event, name) => {
        if (name === null) return
        this.#changed.add(join(folder, name))
        setTimeout(() => this.#ring(), settledMs)
      })
    }
  }

  /** The files that have changed since it was asked last, as soon as there are some; undefined once it was stopped. */
  async next(): Promise<ReadonlySet<string> | undefined> {
    while (!this.#due && !this.#stop.signal.aborted) await new Promise<void>((resolve) => (this.#wake = resolve))
    if (this.#stop.signal.aborted) return undefined
    this.#due = false
    const files = new Set(this.#changed)
    this.#changed.clear()
    return files
  }

  stop(): void {
    this.#stop.abort()
    this.#wake()
  }

  #ring(): void {
    this.#due = true
    this.#wake()
  }
}
