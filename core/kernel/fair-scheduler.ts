// Shares a bounded resource between organizations. Organizations take turns, then keys (such as pipelines) of an organization.
// However many keys one organization floods, another organization waits for at most one turn of each. Slots limit concurrent
// work. Reserved slots go only to organizations without a running turn. A share per key prevents one key from filling all slots
// of its organization. The queue is bounded. At the bound, the newest item of the longest queue is refused (longest queue drop).
// Other organizations never cause a refusal for an organization below its equal share.

/** Slots and bounds of a FairScheduler, and its handling of refused items. */
export interface FairSchedulerOptions<Item> {
  /** Maximum number of waiting items. */
  readonly maxWaiting: number
  /** Maximum number of waiting items of one organization; default `maxWaiting`. */
  readonly maxWaitingPerOrganization?: number
  /** Maximum number of concurrent turns: taken, but not yet `done`. Default: no limit. */
  readonly slots?: number
  /** Slots reserved for organizations without a running turn; default 0. */
  readonly reservedSlots?: number
  /** A key starts another turn only while it runs fewer than this share of its organization's free slots. Default: no limit. */
  readonly keyShare?: number
  /** Called for each refused item: the added item, or the newest item of a longer queue. */
  readonly refuse: (item: Item, bound: "organization" | "total") => void
  /** Milliseconds of a monotonic clock, for `waitingMs`. */
  readonly now?: () => number
}

/** Taken items of one key, oldest first. The turn occupies a slot until `done`. */
export interface Turn<Item> {
  readonly organization: string
  readonly key: string
  readonly items: Item[]
  /** Releases the slot. A second call has no effect. */
  done(): void
}

/** An organization's share, as shown in metrics. */
export interface Share {
  readonly organization: string
  readonly waiting: number
  readonly running: number
  /** Time since its last turn while it waits, in milliseconds. */
  readonly waitingMs: number
}

interface Organization<Item> {
  /** By key, in the order of their turns. */
  readonly queues: Map<string, Item[]>
  waiting: number
  running: number
  /** Running turns by key. Counted only if keys have a share. */
  readonly runningKeys: Map<string, number>
  /** Time of its last turn, or the later start of its wait. */
  since: number
}

/** Hands out waiting items of a shared resource within its slots. Organizations take turns, then keys. */
export class FairScheduler<Item> {
  readonly #options: Required<FairSchedulerOptions<Item>>
  /** In the order of their turns. */
  readonly #organizations = new Map<string, Organization<Item>>()
  #waiting = 0
  #running = 0

  constructor(options: FairSchedulerOptions<Item>) {
    const { maxWaiting, maxWaitingPerOrganization = maxWaiting, slots = Number.POSITIVE_INFINITY } = options
    const { reservedSlots = 0, keyShare = Number.POSITIVE_INFINITY } = options
    if (reservedSlots >= slots) throw new RangeError(`${reservedSlots} of ${slots} slots can't be reserved: one must be for everybody.`)
    const now = options.now ?? (() => performance.now())
    this.#options = { ...options, maxWaitingPerOrganization, slots, reservedSlots, keyShare, now }
  }

  /** Number of waiting items. */
  get waiting(): number {
    return this.#waiting
  }

  /** Number of running turns. */
  get running(): number {
    return this.#running
  }

  /** Adds an item to the end of its key's queue. At a bound, `refuse` runs before this returns. */
  add(organization: string, key: string, item: Item): void {
    const state = this.#organization(organization)
    queueOf(state, key).push(item)
    this.#count(state, 1)
    if (state.waiting > this.#options.maxWaitingPerOrganization) this.#refuseNewest(organization, state, "organization")
    else if (this.#waiting > this.#options.maxWaiting) this.#refuseNewest(...this.#longest(), "total")
  }

  /** Returns taken but unused items to the head of their key's queue, even beyond the bounds. */
  putBack(organization: string, key: string, items: readonly Item[]): void {
    if (items.length === 0) return
    const state = this.#organization(organization)
    queueOf(state, key).unshift(...items)
    this.#count(state, items.length)
  }

  /**
   * Takes the next turn. Returns undefined if no item may run. `take` returns the number of a key's items for one turn (default
   * one) and must not change them. With 0 the key is skipped and its turn remains.
   */
  next(take: (items: readonly Item[], organization: string, key: string) => number = () => 1): Turn<Item> | undefined {
    const { slots, reservedSlots } = this.#options
    if (this.#waiting === 0 || this.#running >= slots) return undefined
    const onlyReserved = slots - this.#running <= reservedSlots
    for (const [organization, state] of this.#organizations) {
      if (state.waiting === 0 || (onlyReserved && state.running > 0)) continue
      for (const [key, queue] of state.queues) {
        if (!this.#keyMayRun(state, key)) continue
        const count = Math.min(queue.length, take(queue, organization, key))
        if (count > 0) return this.#turn(organization, state, key, queue, count)
      }
    }
    return undefined
  }

  /** Removes an item before its turn. Returns false if it does not wait. */
  remove(organization: string, key: string, item: Item): boolean {
    const state = this.#organizations.get(organization)
    const queue = state?.queues.get(key)
    const at = queue?.indexOf(item) ?? -1
    if (!state || !queue || at < 0) return false
    queue.splice(at, 1)
    if (queue.length === 0) state.queues.delete(key)
    this.#count(state, -1)
    this.#forget(organization, state)
    return true
  }

  /** Removes all waiting items, for a stop. Running turns continue. */
  clear(): Item[] {
    const items = [...this.#organizations.values()].flatMap(({ queues }) => [...queues.values()].flat())
    for (const [organization, state] of this.#organizations) {
      state.queues.clear()
      state.waiting = 0
      this.#forget(organization, state)
    }
    this.#waiting = 0
    return items
  }

  /** Returns the organizations with waiting or running items, longest wait first. */
  shares(): Share[] {
    const now = this.#options.now()
    return Array.from(this.#organizations, ([organization, { waiting, running, since }]) => ({
      organization,
      waiting,
      running,
      waitingMs: waiting > 0 ? now - since : 0,
    })).sort((a, b) => b.waitingMs - a.waitingMs)
  }

  /** A key without running turns may always start. */
  #keyMayRun(state: Organization<Item>, key: string): boolean {
    const { slots, reservedSlots, keyShare } = this.#options
    const running = key === "" ? 0 : state.runningKeys.get(key)
    if (!running) return true
    return running < keyShare * Math.min(slots - reservedSlots - state.running, slots - this.#running)
  }

  #countKey({ runningKeys }: Organization<Item>, key: string, turns: number): void {
    if (this.#options.keyShare === Number.POSITIVE_INFINITY) return
    const running = (runningKeys.get(key) ?? 0) + turns
    if (running > 0) runningKeys.set(key, running)
    else runningKeys.delete(key)
  }

  #turn(organization: string, state: Organization<Item>, key: string, queue: Item[], count: number): Turn<Item> {
    const items = queue.splice(0, count)
    // Moves both behind the others, at both levels.
    state.queues.delete(key)
    if (queue.length > 0) state.queues.set(key, queue)
    this.#organizations.delete(organization)
    this.#organizations.set(organization, state)
    this.#count(state, -count)
    state.since = this.#options.now()
    state.running++
    this.#running++
    this.#countKey(state, key, 1)
    let out = true
    const done = () => {
      if (!out) return
      out = false
      state.running--
      this.#running--
      this.#countKey(state, key, -1)
      this.#forget(organization, state)
    }
    return { organization, key, items, done }
  }

  #organization(organization: string): Organization<Item> {
    let state = this.#organizations.get(organization)
    if (!state) {
      state = { queues: new Map(), waiting: 0, running: 0, runningKeys: new Map(), since: 0 }
      this.#organizations.set(organization, state)
    }
    if (state.waiting === 0) state.since = this.#options.now()
    return state
  }

  #count(state: Organization<Item>, items: number): void {
    state.waiting += items
    this.#waiting += items
  }

  #forget(organization: string, state: Organization<Item>): void {
    if (state.waiting === 0 && state.running === 0 && this.#organizations.get(organization) === state)
      this.#organizations.delete(organization)
  }

  #longest(): [string, Organization<Item>] {
    let longest: [string, Organization<Item>] | undefined
    // Of two equally long queues, the later one in turn.
    for (const one of this.#organizations) if (!longest || one[1].waiting >= longest[1].waiting) longest = one
    return longest as [string, Organization<Item>]
  }

  #refuseNewest(organization: string, state: Organization<Item>, bound: "organization" | "total"): void {
    let longest: [string, Item[]] | undefined
    for (const one of state.queues) if (!longest || one[1].length >= longest[1].length) longest = one
    const [key, queue] = longest as [string, Item[]]
    const item = queue.pop() as Item
    if (queue.length === 0) state.queues.delete(key)
    this.#count(state, -1)
    this.#forget(organization, state)
    this.#options.refuse(item, bound)
  }
}

function queueOf<Item>(state: Organization<Item>, key: string): Item[] {
  let queue = state.queues.get(key)
  if (!queue) {
    queue = []
    state.queues.set(key, queue)
  }
  return queue
}
