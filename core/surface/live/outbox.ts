// Emits the messages of a node after its death between commit and emission.
import type { Store } from "../../contract/store.ts"
import type { UnitOfWork, UnitsOfWork } from "../../contract/unit-of-work.ts"
import { type Clock, timestamp } from "../../kernel/clock.ts"
import { derivedUuid, idAt } from "../../kernel/ids.ts"
import type { Logger } from "../../kernel/log.ts"
import { type LiveMessageDocument, LiveMessages, LiveNodes, type LiveOutboxDocument, LiveOutboxes } from "./messages.ts"

export interface OutboxDeps {
  readonly store: Store
  readonly works: UnitsOfWork
  readonly clock: Clock
  readonly log: Logger
  readonly node: string
  readonly deliver: Deliver
}

/** `silentSince`: RFC 3339 time of the last possible commit of a dead node. */
export type Deliver = (organization: string, message: LiveMessageDocument, silentSince?: string | undefined) => void

const beatMs = 5_000
const silentMs = 20_000
/** A message staged longer ago than this was dropped with its commit. */
const maxWorkMs = 120_000
const maxStaged = 100_000
const idSlackMs = 3_600_000

/**
 * Messages cost no extra writes. Every few seconds each node stores a watermark: everything committed before it was emitted. The
 * first message of each organization also stores one marker. When a node's watermark stops, another node emits the later messages
 * with the watermark. Clients drop repeats by id, and messages older than their subscription by time.
 */
export class Outbox {
  readonly #deps: OutboxDeps
  readonly #organizations = new Set<string>()
  readonly #staged = new Map<string, number>()
  #known = false
  #stopped = false
  #cancel = () => {}
  #beating: Promise<void> = Promise.resolve()

  constructor(deps: OutboxDeps) {
    this.#deps = deps
  }

  /** Call this when a message is staged, with the same unit of work. */
  staged(work: UnitOfWork, organization: string, id: string): void {
    if (this.#staged.size >= maxStaged) this.#forgetOldest()
    this.#staged.set(id, this.#deps.clock.now())
    if (this.#organizations.has(organization)) return
    const { node, clock } = this.#deps
    const doc = { id: derivedUuid("live-outbox", node, organization), node, organization, created_at: timestamp(clock.now()) }
    work.in(LiveOutboxes).insert(doc, { ifPresent: "keep" })
    work.afterCommit(() => void this.#organizations.add(organization))
  }

  emitted(id: string): void {
    this.#staged.delete(id)
  }

  start(): void {
    this.#later()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel()
    await this.#beating
    const { store, works, node } = this.#deps
    if (this.#organizations.size === 0) return
    const mine = await store.open(LiveOutboxes).find({ node })
    await works.run((work) => {
      for (const { id } of mine) work.in(LiveOutboxes).remove(id, { optional: true })
      work.in(LiveNodes).remove(node, { optional: true })
    })
  }

  /** Runs one round: this node's own mark, then the silent nodes. The timer calls this. */
  async round(): Promise<void> {
    await this.#beat()
    await this.#takeOver()
  }

  #later(): void {
    this.#cancel = this.#deps.clock.after(beatMs * (0.8 + Math.random() * 0.4), () => {
      this.#beating = this.round()
        .catch((err: unknown) => this.#deps.log.warn({ err }, "live outbox round failed; the next one follows"))
        .finally(() => {
          if (!this.#stopped) this.#later()
        })
    })
  }

  async #beat(): Promise<void> {
    if (this.#organizations.size === 0) return
    const { store, works, clock, node } = this.#deps
    if (this.#known && !(await store.open(LiveNodes).get(node))) {
      this.#organizations.clear() // Another node declared this node dead. The next message of each organization marks it again.
      this.#known = false
      return
    }
    const now = clock.now()
    const mark = { beat_at: timestamp(now), emitted_through: timestamp(this.#emittedThrough(now)) }
    await works.run((work) => work.in(LiveNodes).update(node, { $set: mark }, { upsert: true }))
    this.#known = true
  }

  #emittedThrough(now: number): number {
    for (const [id, at] of this.#staged) {
      if (at >= now - maxWorkMs) return at - 1
      this.#staged.delete(id)
    }
    return now - 1
  }

  #forgetOldest(): void {
    for (const id of this.#staged.keys()) {
      this.#staged.delete(id)
      return
    }
  }

  async #takeOver(): Promise<void> {
    const { store, works, clock, node, log } = this.#deps
    const silent = timestamp(clock.now() - silentMs)
    const outboxes = await store.open(LiveOutboxes).find({ node: { $ne: node }, created_at: { $lt: silent } })
    if (outboxes.length === 0) return
    const nodes = new Map((await store.open(LiveNodes).find({})).map((one) => [one.id, one]))
    for (const outbox of outboxes) {
      const last = nodes.get(outbox.node)
      if (last && last.beat_at >= silent) continue
      const since = Date.parse(last?.emitted_through ?? outbox.created_at) - (last ? 0 : maxWorkMs)
      // The node was alive at its last watermark and dead when the next watermark was overdue.
      const silentSince = last && timestamp(Date.parse(last.beat_at) + 2 * beatMs)
      const count = await this.#emitFor(outbox, since, silentSince)
      await works.run((work) => {
        work.in(LiveOutboxes).remove(outbox.id, { optional: true })
        work.in(LiveNodes).remove(outbox.node, { optional: true })
      })
      if (count > 0) log.info({ node: outbox.node, organization: outbox.organization, count }, "emitted the live messages of a dead node")
    }
  }

  async #emitFor({ node, organization }: LiveOutboxDocument, since: number, silentSince: string | undefined): Promise<number> {
    const { store, deliver } = this.#deps
    let count = 0
    const filter = { node, id: { $gte: idAt(since - idSlackMs) }, at: { $gt: timestamp(since) } }
    for await (const message of store.open(LiveMessages, organization).stream(filter)) {
      deliver(organization, message, silentSince)
      count++
    }
    return count
  }
}
