// The bench's handle of the load generator. Its process lives as long as the suites, so its code is compiled and its cost is
// equal for all servers.
import { type ChildProcess, fork } from "node:child_process"
import { join } from "node:path"
import { readMessage } from "../children.ts"
import type { Measured, Order, RunSpec } from "./generator.ts"
import type { RequestSpec } from "./requests.ts"

export type { Measured } from "./generator.ts"
export type { RequestSpec } from "./requests.ts"

export class Load {
  readonly #process: ChildProcess

  constructor() {
    this.#process = fork(join(import.meta.dirname, "generator.ts"), { stdio: "inherit" })
  }

  /** Returns the number of prepared requests. It may be lower than `count` because of memory. */
  async prepare(spec: RequestSpec, count: number): Promise<number> {
    return (await this.#ask<{ prepared: number }>({ prepare: spec, count: Math.ceil(count) })).prepared
  }

  async run(spec: RunSpec): Promise<Measured> {
    const answer = await this.#ask<{ measured: Measured } | { failed: string }>({ run: spec })
    if ("failed" in answer) throw new Error(`The load generator failed: ${answer.failed}`)
    return answer.measured
  }

  stop(): void {
    this.#process.disconnect()
  }

  #ask<T>(order: Order): Promise<T> {
    const answer = readMessage<T>(this.#process)
    this.#process.send(order)
    return answer
  }
}
