// Declarations of plugins, by kind (operations, actions, ...). The registry refuses two items with one name. Its error names
// both plugins.

export interface DeclarationKind<T> {
  /** Singular name in messages: "operation". */
  readonly kind: string
  readonly nameOf: (item: T) => string
}

export interface Registered<T> {
  readonly item: T
  /** Id of the declaring plugin. */
  readonly plugin: string
}

export class Registry {
  readonly #items = new Map<DeclarationKind<unknown>, Map<string, Registered<unknown>>>()

  add<T>(point: DeclarationKind<T>, item: T, plugin: string): void {
    const items = this.#of(point)
    const name = point.nameOf(item)
    const earlier = items.get(name)
    if (earlier) throw new Error(`The ${point.kind} "${name}" is declared by both ${earlier.plugin} and ${plugin}; rename one.`)
    items.set(name, { item, plugin })
  }

  all<T>(point: DeclarationKind<T>): Registered<T>[] {
    return [...this.#of(point).values()]
  }

  items<T>(point: DeclarationKind<T>): T[] {
    return this.all(point).map((registered) => registered.item)
  }

  get<T>(point: DeclarationKind<T>, name: string): T | undefined {
    return this.#of(point).get(name)?.item
  }

  #of<T>(point: DeclarationKind<T>): Map<string, Registered<T>> {
    const key = point as DeclarationKind<unknown>
    const known = this.#items.get(key)
    const items = known ?? new Map<string, Registered<unknown>>()
    if (!known) this.#items.set(key, items)
    return items as Map<string, Registered<T>>
  }
}
