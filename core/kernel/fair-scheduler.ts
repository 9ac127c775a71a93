// Decides who is next where organizations share something bounded. Turns go round by organization first and then by key
// (a pipeline, say), so that however many keys one organization floods, another waits for one turn of each organization
// that waits before it. Slots limit how much runs at once; the reserved ones go only to organizations that hold none.
// A share per key keeps one key from filling the slots of its organization.
// Waiting is bounded, and what is refused at the bound is the newest item of the longest queue (longest queue drop): an
// organization below its equal share of the bound is never refused because of others.

/** Slots and bounds of a FairScheduler, and what happens to what it refuses. */
export interface FairSchedulerOptions<Item> {
  /** Items that may wait, all in all. */
  readonly maxWaiting: number
  /** Items of one organization that may wait; `maxWaiting` unless given. */
  readonly maxWaitingPerOrganization?: number
  /** Turns that may be out at once: taken, and not yet `done`. Not limited unless given. */
  readonly slots?: number
  /** Of the slots, those that no organization takes which holds one already; 0 unless given. */
  readonly reservedSlots?: number
  /** A named key starts another turn while it runs fewer than this share of the slots that its organization still has free. No limit unless given. */
  readonly keyShare?: number
  /** Called for each item that a bound refuses: the one that was added, or the newest of a longer queue. */
  readonly refuse: (item: Item, bound: "organization" | "total") => void
  /** Milliseconds of a monotonic clock, for `waitingMs`. */
  readonly now?: () => number
}

/** What was taken: items of one key, oldest first. It holds a slot until `done`. */
export interface Turn<Item> {
  readonly organization: string
  readonly key: string
  readonly items: Item[]
  /** Gives the slot back. A second call does nothing. */
  done(): void
}

/** An organization's part, as metrics show it. */
export interface Share {
  readonly organization: string
  readonly waiting: number
  readonly running: number
  /** For how long it has waited without a turn. */
  readonly waitingMs: number
}

interface Organization<Item> {
  /** By key, in the order of their turns. */
  readonly queues: Map<string, Item[]>
  waiting: number
  running: number
  /** Turns that are out by key; counted only if keys have a share. */
  readonly runningKeys: Map<string, number>
  /** When its last turn was, or when it began to wait after that. */
  since: number
}

/** Hands out what waits for a shared resource: by organization in turn, then by key, never more than its slots. */
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

  /** Items that wait. */
  get waiting(): number {
    return this.#waiting
  }

  /** Turns that are out. */
  get running(): number {
    return this.#running
  }

  /** Puts an item at the end of its key's queue. At a bound, `refuse` is called before this returns. */
  add(organization: string, key: string, item: Item): void {
    const state = this.#organization(organization)
    queueOf(state, key).push(item)
    this.#count(state, 1)
    if (state.waiting > this.#options.maxWaitingPerOrganization) this.#refuseNewest(organization, state, "organization")
    else if (this.#waiting > this.#options.maxWaiting) this.#refuseNewest(...this.#longest(), "total")
  }

  /** Puts items that were taken, and did not run, back at the head of their key's queue, even beyond the bounds. */
  putBack(organization: string, key: string, items: readonly Item[]): void {
    if (items.length === 0) return
    const state = this.#organization(organization)
    queueOf(state, key).unshift(...items)
    this.#count(state, items.length)
  }

  /**
   * Takes what is next; undefined where nothing waits, or nothing that may run. `take` says how many of a key's items, which
   * it must not change, go together (one unless given); with 0 the key is passed over and keeps its turn.
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

  /** Takes out an item that no longer wants its turn; false where it does not wait. */
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

  /** Takes out all that waits, for a stop. What runs goes on. */
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

  /** The organizations that wait or run, those that wait longest for a turn first. */
  shares(): Share[] {
    const now = this.#options.now()
    return Array.from(this.#organizations, ([organization, { waiting, running, since }]) => ({
      organization,
      waiting,
      running,
      waitingMs: waiting > 0 ? now - since : 0,
    })).sort((a, b) => b.waitingMs - a.waitingMs)
  }

  /** A key that runs nothing may always start. */
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
    // Behind the others, at both levels.
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
    // Of two as long, the one that comes later in turn.
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
