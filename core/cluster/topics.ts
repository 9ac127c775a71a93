// What this node holds in memory, by topic, and how it lets go of it.
import { allKeys } from "../contract/cache-invalidation.ts"
import { allDone } from "../kernel/all-done.ts"

export type Drop = (key: string) => Promise<void> | void

export class Topics {
  readonly #drops = new Map<string, Drop[]>()

  add(topic: string, drop: Drop): void {
    this.#drops.set(topic, [...(this.#drops.get(topic) ?? []), drop])
  }

  /** Resolves when every holder has let go; rejects when one could not. All are asked at once, before anything is awaited. */
  async drop(topic: string, key: string): Promise<void> {
    await allDone((this.#drops.get(topic) ?? []).map(async (drop) => drop(key)))
  }

  async dropAll(): Promise<void> {
    await allDone([...this.#drops.keys()].map((topic) => this.drop(topic, allKeys)))
  }
}
