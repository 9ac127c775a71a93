// Gathers what comes one by one until a moment that the first of it schedules, and hands it on in groups.

export class Gathering<T> {
  readonly #schedule: (run: () => void) => void
  readonly #run: (group: T[]) => void
  readonly #maxGroup: number
  #items: T[] = []

  constructor(schedule: (run: () => void) => void, maxGroup: number, run: (group: T[]) => void) {
    this.#schedule = schedule
    this.#maxGroup = maxGroup
    this.#run = run
  }

  add(item: T): void {
    if (this.#items.push(item) === 1) this.#schedule(() => this.#handOn())
  }

  /** What comes meanwhile is gathered for the next time. */
  #handOn(): void {
    const items = this.#items
    this.#items = []
    for (let at = 0; at < items.length; at += this.#maxGroup) this.#run(items.slice(at, at + this.#maxGroup))
  }
}
