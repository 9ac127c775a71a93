// Queues by path: organization, pipeline, destination. The members of each level take turns. Many destinations of one pipeline
// count as one pipeline, and many pipelines of one organization count as one organization.

interface Node<Item> {
  /** In the order of their turns. */
  readonly children: Map<string, Node<Item>>
  /** Of a last level, oldest first. */
  readonly items: Item[]
  waiting: number
}

/** An item taken by `next`, with the path of its queue. */
export interface LineTurn<Item> {
  readonly path: readonly string[]
  readonly item: Item
}

export class FairLines<Item> {
  readonly #root: Node<Item> = newNode()

  /** Returns the number of items below a path. An empty path counts all items. */
  waiting(path: readonly string[] = []): number {
    let node: Node<Item> | undefined = this.#root
    for (const name of path) node = node?.children.get(name)
    return node?.waiting ?? 0
  }

  /** Returns the names of the first level, in the order of their turns. */
  names(): Iterable<string> {
    return this.#root.children.keys()
  }

  add(path: readonly string[], item: Item): void {
    let node = this.#root
    node.waiting++
    for (const name of path) {
      let child = node.children.get(name)
      if (!child) {
        child = newNode()
        node.children.set(name, child)
      }
      node = child
      node.waiting++
    }
    node.items.push(item)
  }

  /** Takes the next item in turn. Calls `may` for each prefix of a path, from the organization down. */
  next(may: (path: readonly string[]) => boolean): LineTurn<Item> | undefined {
    return this.#root.waiting === 0 ? undefined : this.#first(this.#root, [], may)
  }

  /** Removes an item from its queue. Returns false if the item is not there. */
  remove(path: readonly string[], item: Item): boolean {
    return this.#remove(this.#root, path, item)
  }

  #first(node: Node<Item>, path: readonly string[], may: (path: readonly string[]) => boolean): LineTurn<Item> | undefined {
    const [item] = node.items
    if (item !== undefined) {
      node.items.shift()
      node.waiting--
      return { path, item }
    }
    for (const [name, child] of node.children) {
      const below = [...path, name]
      if (!may(below)) continue
      const turn = this.#first(child, below, may)
      if (!turn) continue
      node.waiting--
      // Moves the name behind the others.
      node.children.delete(name)
      if (child.waiting > 0) node.children.set(name, child)
      return turn
    }
    return undefined
  }

  #remove(node: Node<Item>, [name, ...rest]: readonly string[], item: Item): boolean {
    if (name === undefined) {
      const at = node.items.indexOf(item)
      if (at < 0) return false
      node.items.splice(at, 1)
    } else {
      const child = node.children.get(name)
      if (!child || !this.#remove(child, rest, item)) return false
      if (child.waiting === 0) node.children.delete(name)
    }
    node.waiting--
    return true
  }
}

function newNode<Item>(): Node<Item> {
  return { children: new Map(), items: [], waiting: 0 }
}
