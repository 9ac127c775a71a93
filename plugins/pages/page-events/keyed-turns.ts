// Takes turns by key: what is asked for under one key runs in the order of asking, one at a time. Holds only keys that
// something is in progress for.

export class KeyedTurns {
  readonly #last = new Map<string, Promise<void>>()

  take<T>(key: string, run: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve()
    const turn = before.then(run)
    const end = () => {
      if (this.#last.get(key) === settled) this.#last.delete(key)
    }
    const settled = turn.then(end, end)
    this.#last.set(key, settled)
    return turn
  }
}
