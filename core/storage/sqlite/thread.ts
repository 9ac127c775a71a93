// Threads of the embedded store from the main thread's side. Each thread serves an open file at a time over its own port.
// serve.ts is the other side.
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads"
import { allDone } from "../../kernel/promises.ts"

/** Idle threads by script. Undefined if idle threads are not reused. */
let kept: Map<string, Worker[]> | undefined

/**
 * Reuses a thread after its file is closed, until the process ends. It serves programs that open several stores in sequence,
 * because a thread's start takes 25 ms of CPU time. `false` ends the idle threads.
 */
export async function keepStoreThreads(isKept: boolean): Promise<void> {
  const waiting = kept
  kept = isKept ? (waiting ?? new Map()) : undefined
  if (waiting && !isKept) await allDone([...waiting.values()].flat().map((worker) => worker.terminate()))
}

export interface StoreThreadOptions<Reply> {
  readonly name: string
  /** Data for the script. */
  readonly data: unknown
  readonly onReply: (reply: Reply) => void
  /** Called if the thread ended without `close`. */
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

  /** Closes the thread after all its answers. */
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

  /** Ends the thread immediately, like a crash. */
  async kill(): Promise<void> {
    await this.#worker.terminate()
  }

  /** Lets the process end while the thread is open. */
  unref(): void {
    this.#worker.unref()
    this.#port.unref()
  }
}
