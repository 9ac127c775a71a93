// Repeats of an event, recognised by the key that its document asks for. Only an accepted event leaves a key; a repeat of
// one still under way waits for it.

import type { Reply } from "../../contract/action.ts"
import type { Json } from "../../contract/collection.ts"
import type { Store } from "../../contract/store.ts"
import type { Work } from "../../contract/work.ts"
import { type Clock, timestamp } from "../../kernel/clock.ts"
import { derivedUuid } from "../../kernel/ids.ts"
import { SeenCollection, type SeenKey } from "../journal/collections.ts"
import type { StoredPipeline } from "../source.ts"

/** Thrown by a commit that lost to another event with the same key. */
export class RepeatedEvent extends Error {
  readonly seen: SeenKey

  constructor(seen: SeenKey) {
    super(`a repeat of ${seen.execution_id}`)
    this.seen = seen
  }
}

export class Dedupe {
  readonly #store: Store
  readonly #clock: Clock
  readonly #underWay = new Map<string, Promise<void>>()

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** The accepted event with this key, when there is one inside its window; else takes the key until `release`. Waits while another event holds it, at most `waitMs`. */
  async claim(
    pipeline: StoredPipeline,
    key: string,
    waitMs: number,
  ): Promise<{ seen: SeenKey } | { seen: null; id: string; release: () => void }> {
    const id = derivedUuid(pipeline.id, key)
    const deadline = this.#clock.monotonic() + waitMs
    for (let other = this.#underWay.get(id); other; other = this.#underWay.get(id)) {
      const left = deadline - this.#clock.monotonic()
      if (left <= 0) break
      await Promise.race([other, new Promise<void>((resolve) => this.#clock.after(left, resolve))])
    }
    let settle: () => void = () => {}
    const held = new Promise<void>((resolve) => {
      settle = resolve
    })
    this.#underWay.set(id, held)
    const release = () => {
      if (this.#underWay.get(id) === held) this.#underWay.delete(id)
      settle()
    }
    try {
      const seen = await this.find(pipeline, id)
      if (!seen) return { seen: null, id, release }
      release()
      return { seen }
    } catch (error) {
      release()
      throw error
    }
  }

  async find(pipeline: StoredPipeline, id: string): Promise<SeenKey | undefined> {
    const seen = await this.#store.open(SeenCollection, pipeline.organization.id).get(id)
    return seen && Date.parse(seen.expires_at) > this.#clock.now() ? seen : undefined
  }

  /** Stages the key with the event's commit; the commit fails as `aborted` or `already_exists` when another node accepted the event first. */
  stage(
    work: Work,
    pipeline: StoredPipeline,
    id: string,
    first: { execution: string; isTest: boolean; reply: Reply },
    windowMs: number,
  ): void {
    const { execution, isTest, reply } = first
    const now = this.#clock.now()
    work.in(SeenCollection, pipeline.organization.id).update(
      id,
      {
        $set: {
          execution_id: execution,
          is_test: isTest,
          reply: { status: reply.status, headers: { ...reply.headers }, body: reply.body } as Json,
          expires_at: timestamp(now + windowMs),
        },
      },
      { upsert: true, where: { expires_at: { $lte: timestamp(now) } } },
    )
  }
}
