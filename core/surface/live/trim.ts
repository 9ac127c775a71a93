// Limits the stored messages of a channel. After each `keep` messages of a room, all except the newest `keep` are removed. This
// runs in the background, one room at a time. The collection's expiry limits the age.
import type { Store } from "../../contract/store.ts"
import type { UnitsOfWork } from "../../contract/unit-of-work.ts"
import type { Logger } from "../../kernel/log.ts"
import { LiveMessages } from "./messages.ts"

const maxCounters = 10_000
const batch = 500

export class Trimmer {
  readonly #deps: { store: Store; works: UnitsOfWork; log: Logger; keep: number }
  readonly #counts = new Map<string, number>()
  readonly #due = new Map<string, { organization: string; room: string }>()
  #running: Promise<void> | undefined

  constructor(deps: { store: Store; works: UnitsOfWork; log: Logger; keep: number }) {
    this.#deps = deps
  }

  committed(organization: string, room: string): void {
    const key = `${organization}:${room}`
    const count = (this.#counts.get(key) ?? 0) + 1
    if (count < Math.max(1, this.#deps.keep)) {
      if (this.#counts.size >= maxCounters) this.#counts.clear()
      this.#counts.set(key, count)
      return
    }
    this.#counts.delete(key)
    this.#due.set(key, { organization, room })
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
  }

  /** Resolves when no removal is running. */
  async idle(): Promise<void> {
    await this.#running
  }

  async #run(): Promise<void> {
    for (const [key, { organization, room }] of this.#due) {
      this.#due.delete(key)
      try {
        await this.#trim(organization, room)
      } catch (err) {
        this.#deps.log.warn({ err, organization, room }, "kept live messages could not be trimmed; the next round does it")
      }
    }
  }

  async #trim(organization: string, room: string): Promise<void> {
    const messages = this.#deps.store.open(LiveMessages, organization)
    const kept = await messages.find({ room }, { sort: { id: -1 }, limit: this.#deps.keep })
    const oldest = kept.at(-1)
    if (!oldest || kept.length < this.#deps.keep) return
    for (;;) {
      const beyond = await messages.find({ room, id: { $lt: oldest.id } }, { limit: batch })
      if (beyond.length === 0) return
      await this.#deps.works.run((work) => {
        for (const { id } of beyond) work.in(LiveMessages, organization).remove(id, { optional: true })
      })
    }
  }
}
