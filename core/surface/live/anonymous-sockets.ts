// How many anonymous sockets each address holds open, and all of them together, on this node.
import { networkOf } from "../../kernel/client-address.ts"
import { AppError } from "../../kernel/errors.ts"

const maxSockets = 20_000

export class AnonymousSockets {
  readonly #perAddress: number
  readonly #open = new Map<string, number>()
  #total = 0

  constructor(perAddress: number) {
    this.#perAddress = perAddress
  }

  /** Counts one more and returns what takes it off again. Throws `resource_exhausted`. */
  enter(address: string): () => void {
    const network = networkOf(address)
    const held = this.#open.get(network) ?? 0
    if (held >= this.#perAddress) throw full(`This address holds ${held} anonymous sockets already, as many as it may.`, "too_many_sockets")
    if (this.#total >= maxSockets) throw full(`This node holds ${maxSockets} anonymous sockets already.`, "too_many_sockets_in_all")
    this.#open.set(network, held + 1)
    this.#total += 1
    let left = false
    return () => {
      if (left) return
      left = true
      this.#total -= 1
      const now = (this.#open.get(network) ?? 1) - 1
      if (now > 0) this.#open.set(network, now)
      else this.#open.delete(network)
    }
  }
}

function full(message: string, reason: string): AppError {
  return new AppError("resource_exhausted", `${message} Close one, or try again later.`, { reason })
}
