// Group commit, independent of the driver. Commits that arrive during a write are merged into a group and share the cost of a
// disk flush.
// Each document keeps the order of its commits. Commits to the same document are never in two groups in progress. A driver that
// preserves the order of groups needs no such limit.
// The queue is bounded. At the bound a commit is refused with `unavailable`. The whole service is then behind, and no caller
// exceeded a share, so the code is not `resource_exhausted`.
import type { Commit, CommitResult } from "../contract/store.ts"
import { type Clock, giveUpAfter } from "../kernel/clock.ts"
import { AppError, asAppError } from "../kernel/errors.ts"
import { throwUncaught } from "../kernel/promises.ts"
import { runOutsideRequests } from "../kernel/request-scope.ts"
import type { StagedCommit, StorageDriver } from "./driver.ts"
import { sizeOf } from "./size.ts"

export interface GroupCommitLimits {
  /** Maximum commits of a group. */
  readonly groupCommits: number
  /** With this many waiting commits, a group leaves before the end of the turn. Its write then overlaps with the rest of the turn. */
  readonly earlyCommits: number
  /** Approximate maximum bytes of a group. A larger commit has its own group. */
  readonly groupBytes: number
  /** Maximum waiting commits. */
  readonly waitingCommits: number
  /** Approximate maximum bytes of waiting commits. */
  readonly waitingBytes: number
  /** Maximum milliseconds of a commit's wait for its group. After that the commit is refused and never written. */
  readonly waitMs: number
}

const defaultLimits: GroupCommitLimits = {
  groupCommits: 256,
  earlyCommits: 32,
  groupBytes: 4 << 20,
  waitingCommits: 20_000,
  waitingBytes: 128 << 20,
  waitMs: Number.POSITIVE_INFINITY,
}

/** Called once per group, after the answers to its callers. */
export type GroupObserver = (group: {
  readonly commits: number
  readonly failed: number
  readonly bytes: number
  readonly milliseconds: number
}) => void

interface Waiting {
  readonly commit: Commit
  readonly bytes: number
  /** Monotonic milliseconds. */
  readonly since: number
  readonly resolve: (result: CommitResult) => void
  readonly reject: (error: AppError) => void
}

export class GroupCommit {
  readonly #driver: Pick<StorageDriver, "commitGroup" | "groupsInFlight" | "keepsOrder" | "stage">
  readonly #clock: Clock
  readonly #limits: GroupCommitLimits
  readonly #observe: GroupObserver | undefined
  #queue: Waiting[] = []
  #bytes = 0
  #inFlight = 0
  #scheduled = false
  #closed = false
  /** Documents of groups in progress. Used only if several groups can be in progress. */
  readonly #busy = new Set<string>()
  #whenIdle: (() => void)[] = []
  #cancelExpiry: (() => void) | undefined
  /** Monotonic start times of the groups in progress, oldest first. */
  readonly #begun: number[] = []

  constructor(options: {
    driver: Pick<StorageDriver, "commitGroup" | "groupsInFlight" | "keepsOrder" | "stage">
    clock: Clock
    limits?: Partial<GroupCommitLimits>
    observe?: GroupObserver
  }) {
    this.#driver = options.driver
    this.#clock = options.clock
    this.#limits = { ...defaultLimits, ...options.limits }
    this.#observe = options.observe
  }

  get #inOrder(): boolean {
    return this.#driver.keepsOrder === true || this.#driver.groupsInFlight === 1
  }

  /** Commits waiting for a group. */
  get waiting(): number {
    return this.#queue.length
  }

  /** Milliseconds since the start of the oldest group in progress, or 0. */
  get stalledMs(): number {
    const [oldest] = this.#begun
    return oldest === undefined ? 0 : this.#clock.monotonic() - oldest
  }

  /**
   * Resolves when the commit is on disk. Rejects with the reason for a refusal. Rejects with `unavailable` if the queue is full
   * or after `close`.
   */
  commit(commit: Commit): Promise<CommitResult> {
    if (this.#closed)
      return Promise.reject(new AppError("unavailable", "Storage is stopping; try again.", { reason: "stopping" }, { retryAfterS: 1 }))
    if (this.#queue.length >= this.#limits.waitingCommits) return Promise.reject(this.#refuse())
    let staged: StagedCommit
    try {
      staged = this.#driver.stage?.(commit) ?? { ...commit, bytes: sizeOf(commit) }
    } catch (error) {
      return Promise.reject(asAppError(error))
    }
    const { bytes } = staged
    if (this.#queue.length > 0 && this.#bytes + bytes > this.#limits.waitingBytes) return Promise.reject(this.#refuse())
    return new Promise((resolve, reject) => {
      this.#queue.push({ commit: staged, bytes, since: this.#clock.monotonic(), resolve, reject })
      this.#bytes += bytes
      this.#expireLater()
      if (this.#queue.length >= this.#limits.earlyCommits) this.#send()
      else this.#schedule()
    })
  }

  /** Refuses new commits, and resolves when all accepted commits are answered. */
  close(): Promise<void> {
    this.#closed = true
    if (this.#inFlight === 0 && this.#queue.length === 0) return Promise.resolve()
    return new Promise((resolve) => this.#whenIdle.push(resolve))
  }

  #refuse(): AppError {
    const waiting = this.#queue.length
    const message = `Storage is overloaded: ${waiting} commits (about ${this.#bytes >> 20} MiB) are waiting. Retry shortly.`
    return new AppError("unavailable", message, { reason: "commit_timeout", waiting }, { retryAfterS: 1 })
  }

  #expireLater(): void {
    const { waitMs } = this.#limits
    const [oldest] = this.#queue
    if (this.#cancelExpiry || !oldest || waitMs === Number.POSITIVE_INFINITY) return
    const left = Math.max(0, oldest.since + waitMs - this.#clock.monotonic())
    this.#cancelExpiry = giveUpAfter(this.#clock, left, () => {
      this.#cancelExpiry = undefined
      this.#expire(waitMs)
      this.#expireLater()
    })
  }

  /** Refuses expired commits at the front of the queue. */
  #expire(waitMs: number): void {
    const earliest = this.#clock.monotonic() - waitMs
    const first = this.#queue.findIndex(({ since }) => since > earliest)
    const expired = this.#queue.splice(0, first < 0 ? this.#queue.length : first)
    if (expired.length === 0) return
    const message = `Storage does not take commits: this one waited for ${waitMs} ms and was not written. Retry shortly.`
    for (const { bytes, reject } of expired) {
      this.#bytes -= bytes
      reject(new AppError("unavailable", message, { reason: "storage_unavailable" }, { retryAfterS: 1 }))
    }
    this.#endIfIdle()
  }

  #endIfIdle(): void {
    if (this.#inFlight > 0 || this.#queue.length > 0) return
    for (const resolve of this.#whenIdle) resolve()
    this.#whenIdle = []
  }

  #schedule(): void {
    if (this.#scheduled || !this.#mayStart()) return
    this.#scheduled = true
    // Delayed, so later commits of the same turn join the group.
    setImmediate(() => {
      this.#scheduled = false
      this.#send()
    })
  }

  #send(): void {
    while (this.#queue.length > 0 && this.#mayStart()) {
      const group = this.#inOrder ? this.#takeNext() : this.#takeFree()
      if (group.length === 0) return
      this.#inFlight++
      // A group serves several requests.
      runOutsideRequests(() => this.#run(group)).catch(throwUncaught)
    }
  }

  /**
   * If groups are written in sequence, an early small group has no advantage. It grows while it waits here, and a group costs as
   * much as several of its commits.
   */
  #mayStart(): boolean {
    if (this.#inFlight === 0) return true
    return this.#inFlight < this.#driver.groupsInFlight && (!this.#inOrder || this.#queue.length >= this.#limits.earlyCommits)
  }

  /** Takes the next commits in order, up to the limits of a group. */
  #takeNext(): Waiting[] {
    const { groupCommits, groupBytes } = this.#limits
    let count = 0
    let bytes = 0
    for (const { bytes: own } of this.#queue) {
      if (count > 0 && (count >= groupCommits || bytes + own > groupBytes)) break
      count++
      bytes += own
    }
    this.#bytes -= bytes
    return this.#queue.splice(0, count)
  }

  /**
   * Takes the next commits, but skips commits with documents in progress. It also skips later commits to the documents of a
   * skipped commit.
   */
  #takeFree(): Waiting[] {
    const { groupCommits, groupBytes } = this.#limits
    const group: Waiting[] = []
    const left: Waiting[] = []
    const passed = new Set<string>()
    let bytes = 0
    let index = 0
    for (; index < this.#queue.length; index++) {
      const waiting = this.#queue[index] as Waiting
      if (group.length > 0 && (group.length >= groupCommits || bytes + waiting.bytes > groupBytes)) break
      const keys = keysOf(waiting.commit)
      if (keys.some((key) => this.#busy.has(key) || passed.has(key))) {
        for (const key of keys) passed.add(key)
        left.push(waiting)
      } else {
        bytes += waiting.bytes
        group.push(waiting)
      }
    }
    for (const { commit } of group) for (const key of keysOf(commit)) this.#busy.add(key)
    this.#queue = left.length === 0 ? this.#queue.slice(index) : left.concat(this.#queue.slice(index))
    this.#bytes -= bytes
    return group
  }

  async #run(group: readonly Waiting[]): Promise<void> {
    if (this.#queue.length === 0) {
      this.#cancelExpiry?.()
      this.#cancelExpiry = undefined
    }
    const started = this.#clock.monotonic()
    this.#begun.push(started)
    const commits = group.map((waiting) => waiting.commit)
    let failed = 0
    try {
      const results = await this.#driver.commitGroup(commits)
      for (let index = 0; index < group.length; index++) if (settle(group[index], results[index])) failed++
    } catch (error) {
      failed = group.length
      const reported = asAppError(error)
      for (const waiting of group) waiting.reject(reported)
    }
    this.#inFlight--
    this.#begun.splice(this.#begun.indexOf(started), 1)
    if (!this.#inOrder) for (const commit of commits) for (const key of keysOf(commit)) this.#busy.delete(key)
    this.#send()
    this.#observe?.({
      commits: group.length,
      failed,
      bytes: group.reduce((sum, waiting) => sum + waiting.bytes, 0),
      milliseconds: this.#clock.monotonic() - started,
    })
    this.#endIfIdle()
  }
}

/** Answers a caller. Returns true if its commit failed. */
function settle(waiting: Waiting | undefined, result: CommitResult | AppError | undefined): boolean {
  if (result && !(result instanceof AppError)) {
    waiting?.resolve(result)
    return false
  }
  waiting?.reject(result ?? new AppError("internal", "The storage driver returned no result for a commit.", { reason: "internal" }))
  return true
}

/** Returns a key for the commit and for each of its documents. */
function keysOf({ id, writes }: Commit): string[] {
  const keys = [`#${id}`]
  for (const write of writes) {
    keys.push(`${write.collection.name}/${"doc" in write ? write.doc.id : write.id}`)
  }
  return keys
}
