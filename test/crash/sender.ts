// Sends numbered events over a fixed number of connections, each after the previous answer. Records the outcome of each event:
// acknowledged with its execution, refused, or unanswered when the service died.
import { createHmac } from "node:crypto"
import { Agent, type ClientRequest, request } from "node:http"

export interface SenderArgs {
  readonly url: string
  readonly secret: string
  readonly connections: number
  /** Number of the first event. */
  readonly from: number
  /** Continues after a broken or refused connection: other workers still run, or will run soon. */
  readonly keepsOn?: boolean
  /** Pause of a connection between an answer and the next event, for tests with another subject than load. Default: no pause. */
  readonly restMs?: number
}

/** One of this many events requests a call to the peer. */
export const notifyEvery = 20

/** Pause after a 503 or a lost connection. Immediate retries would take processor time from the recovery. */
const pauseMs = 300

export class Sender {
  readonly acknowledged = new Map<number, string>()
  /** Answers other than 2xx, by status. */
  readonly refused = new Map<number, number>()
  /** Sent completely, but unanswered when the connection broke. */
  readonly unanswered = new Set<number>()
  /** Initially from the arguments. Tests change it, since load is needed only part of the time. */
  restMs: number
  /** Longest wait of an event for its 2xx. */
  slowestMs = 0
  readonly #args: SenderArgs
  readonly #agent: Agent
  readonly #open = new Map<number, ClientRequest>()
  #next: number
  #stopped = false
  #whenIdle: (() => void) | undefined

  constructor(args: SenderArgs) {
    this.#args = args
    this.#next = args.from
    this.restMs = args.restMs ?? 0
    this.#agent = new Agent({ keepAlive: true, maxSockets: args.connections })
  }

  /** Number of the next event. */
  get next(): number {
    return this.#next
  }

  /** Number of completely sent, unanswered events. */
  get inFlight(): number {
    return this.#open.size
  }

  start(): void {
    for (let index = 0; index < this.#args.connections; index++) this.#send()
  }

  /** Stops sending. Resolves when each sent event is answered or known to stay unanswered. */
  async stop(): Promise<void> {
    this.#stopped = true
    if (this.#open.size > 0)
      await new Promise<void>((resolve) => {
        this.#whenIdle = resolve
      })
    this.#agent.destroy()
  }

  #send(): void {
    if (this.#stopped) return
    const n = this.#next++
    const body = eventBody(n)
    const signature = createHmac("sha256", this.#args.secret).update(body).digest("hex")
    const outgoing = request(this.#args.url, {
      method: "POST",
      agent: this.#agent,
      headers: { "content-type": "application/json", "content-length": Buffer.byteLength(body), "x-signature-256": `sha256=${signature}` },
    })
    this.#open.set(n, outgoing)
    const began = performance.now()
    let text = ""
    outgoing.on("response", (answer) => {
      answer.on("data", (chunk: Buffer) => {
        text += chunk.toString()
      })
      answer.on("close", () => (answer.complete ? this.#answered(n, answer.statusCode ?? 0, text, began) : this.#lost(n)))
    })
    outgoing.on("error", () => this.#lost(n))
    outgoing.end(body)
  }

  #answered(n: number, status: number, text: string, began: number): void {
    if (!this.#open.delete(n)) return
    if (status >= 200 && status < 300) {
      this.acknowledged.set(n, (JSON.parse(text) as { execution_id: string }).execution_id)
      this.slowestMs = Math.max(this.slowestMs, performance.now() - began)
    } else this.refused.set(n, status)
    this.#after(status === 503 ? pauseMs : this.restMs)
  }

  #lost(n: number): void {
    if (!this.#open.delete(n)) return
    this.unanswered.add(n)
    // The service is gone; a retry would only be refused a connection.
    if (!this.#args.keepsOn) this.#stopped = true
    this.#after(pauseMs)
  }

  #after(waitMs = 0): void {
    if (!this.#stopped) {
      if (waitMs > 0) setTimeout(() => this.#send(), waitMs)
      else this.#send()
    } else if (this.#open.size === 0) this.#whenIdle?.()
  }
}

export function eventBody(n: number): string {
  const lead = { n, email: `lead-${n}@example.com`, name: "Ada Lovelace", budget: 12_500, notify: n % notifyEvery === 0, message: "" }
  lead.message = "x".repeat(Math.max(0, 300 - JSON.stringify(lead).length))
  return JSON.stringify(lead)
}
