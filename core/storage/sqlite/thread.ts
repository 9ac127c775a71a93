// Threads of the embedded store, seen from the main thread: each serves one open file at a time, over a port of its own
// (serve.ts is its other end).
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads"
import { allDone } from "../../kernel/promises.ts"

/** Threads that serve nothing, by script. Undefined: none are kept. */
let kept: Map<string, Worker[]> | undefined

/**
 * Whether a thread whose file was closed waits for the next one until the process ends, for what opens one store after the
 * other: to start one takes 25 ms of the processor. `false` ends those that wait.
 */
export async function keepStoreThreads(isKept: boolean): Promise<void> {
  const waiting = kept
  kept = isKept ? (waiting ?? new Map()) : undefined
  if (waiting && !isKept) await allDone([...waiting.values()].flat().map((worker) => worker.terminate()))
}

export interface StoreThreadOptions<Reply> {
  readonly name: string
  /** What the script opens. */
  readonly data: unknown
  readonly onReply: (reply: Reply) => void
  /** Hears that the thread ended without being closed. */
  readonly onDeath: (error: Error) => void
}

export class StoreThread<Request, Reply> {
  readonly #script: string
  readonly #worker: Worker
  readonly #port: MessagePort
  readonly #release: () => void
  #closed: (isAlive: boolean) => void = () => undefined

  constructor(script: URL, { name, data, onReply, onDeath }: StoreThreadOptions<Reply>) {
    this.#script = script.href
    this.#worker = kept?.get(this.#script)?.pop() ?? new Worker(script, { name })
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    let cause: unknown
    const failed = (error: unknown) => {
      cause = error
    }
    const ended = (code: number) => {
      onDeath(cause instanceof Error ? cause : new Error(`The thread ${name} ended with code ${code}.`))
      this.#closed(false)
    }
    this.#release = () => void this.#worker.off("error", failed).off("exit", ended)
    this.#worker.on("error", failed).on("exit", ended).ref()
    port1.on("message", (reply: Reply | "closed") => (reply === "closed" ? this.#closed(true) : onReply(reply)))
    this.#worker.postMessage({ data, port: port2 }, [port2])
  }

  ask(request: Request): void {
    this.#port.postMessage(request)
  }

  /** Once it has answered all that it was asked. */
  async close(): Promise<void> {
    const isAlive = await new Promise<boolean>((resolve) => {
      this.#closed = resolve
      this.#port.postMessage("close")
    })
    this.#port.close()
    if (!isAlive) return
    this.#release()
    if (kept) {
      this.#worker.unref()
      kept.set(this.#script, [...(kept.get(this.#script) ?? []), this.#worker])
    } else await this.#worker.terminate()
  }

  /** At once, as a crash would. */
  async kill(): Promise<void> {
    await this.#worker.terminate()
  }

  /** The process may end while it is open. */
  unref(): void {
    this.#worker.unref()
    this.#port.unref()
  }
}
