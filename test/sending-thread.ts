// A thread that sends requests, so the sender's cost is not counted as the service's.
import { parentPort, Worker } from "node:worker_threads"

interface Sent {
  readonly id: number
  readonly method: "GET" | "POST" | "PUT"
  readonly url: string
  readonly body: string | Uint8Array | null
  readonly headers: Readonly<Record<string, string>>
}

export interface Answer {
  readonly status: number
  /** The first thousand characters. */
  readonly text: string
}

/** The test's handle of the sender. */
export class SendingThread {
  readonly #worker = new Worker(new URL(import.meta.url))
  readonly #waiting = new Map<number, (answer: Answer) => void>()
  #next = 0

  constructor() {
    this.#worker.on("message", ({ id, ...answer }: Answer & { id: number }) => {
      this.#waiting.get(id)?.(answer)
      this.#waiting.delete(id)
    })
  }

  post(url: string, body: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.#send({ method: "POST", url, body, headers: { "content-type": "application/json", ...headers } })
  }

  /** Use shared memory for the bytes: other buffers are copied. */
  put(url: string, body: Uint8Array): Promise<Answer> {
    return this.#send({ method: "PUT", url, body, headers: {} })
  }

  get(url: string, headers: Readonly<Record<string, string>>): Promise<Answer> {
    return this.#send({ method: "GET", url, body: null, headers })
  }

  #send(message: Omit<Sent, "id">): Promise<Answer> {
    return new Promise((resolve) => {
      const id = this.#next++
      this.#waiting.set(id, resolve)
      this.#worker.postMessage({ id, ...message } satisfies Sent)
    })
  }

  async stop(): Promise<void> {
    await this.#worker.terminate()
  }
}

parentPort?.on("message", async ({ id, url, method, body, headers }: Sent) => {
  const response = await fetch(url, { method, headers, body: body === null ? null : Buffer.from(body as Uint8Array) })
  parentPort?.postMessage({ id, status: response.status, text: (await response.text()).slice(0, 1_000) })
})
