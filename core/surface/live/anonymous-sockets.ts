// How many anonymous sockets each address holds open, and all of them together on this node.
import type { Tally } from "../../contract/tally.ts"
import { networkOf } from "../../kernel/client-address.ts"
import { AppError } from "../../kernel/errors.ts"

const maxSockets = 20_000

export class AnonymousSockets {
  readonly #tally: Tally
  readonly #perAddress: number
  #total = 0

  constructor(tally: Tally, perAddress: number) {
    this.#tally = tally
    this.#perAddress = perAddress
  }

  /** Counts one more and returns what takes it off again. Throws `resource_exhausted`. */
  async enter(address: string): Promise<() => void> {
    if (this.#total >= maxSockets) throw full(`This node holds ${maxSockets} anonymous sockets already.`, "too_many_sockets_in_all")
    const release = await this.#tally.hold({ id: `sockets:${networkOf(address)}`, limit: this.#perAddress })
    if (!release) throw full(`This address holds ${this.#perAddress} anonymous sockets already, as many as it may.`, "too_many_sockets")
    this.#total += 1
    let left = false
    return () => {
      if (left) return
      left = true
      this.#total -= 1
      release()
    }
  }
}

function full(message: string, reason: string): AppError {
  return new AppError("resource_exhausted", `${message} Close one, or try again later.`, { reason })
}
