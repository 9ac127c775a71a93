// SMTP connections, pooled by organization. Messages to one recipient domain use at most three quarters of a pool. A slow domain
// therefore leaves connections for others. Pools without messages are closed.
import { AppError, allDone, type Clock } from "#core"
import { FairLimiter } from "#core/engine"

export interface MailConnectionsArgs {
  readonly url: string
  readonly clock: Clock
  /** Per organization. */
  readonly maxConnections: number
}

/**
 * Limit of connections for all organizations, as a multiple of an organization's limit. A quarter is reserved for organizations
 * without a message.
 */
const organizations = 2
const idleMs = 60_000

type Pool = Awaited<ReturnType<typeof openPool>>

interface Entry {
  readonly pool: Promise<Pool>
  readonly limiter: FairLimiter
  messages: number
  usedAt: number
}

export interface MailTurn {
  readonly organization: string
  /** Domain of the first recipient. */
  readonly domain: string
  readonly signal: AbortSignal | undefined
}

export class MailConnections {
  readonly #args: MailConnectionsArgs
  readonly #entries = new Map<string, Entry>()
  readonly #all: FairLimiter
  #cancelSweep: (() => void) | undefined

  constructor(args: MailConnectionsArgs) {
    this.#args = args
    const slots = args.maxConnections * organizations
    this.#all = limiter({ slots, reservedSlots: Math.floor(slots / 4) }, args.clock)
  }

  /** Passes a pool to `send` once the message has a connection. Rejects with the signal's reason if the signal aborts first. */
  async use<T>({ organization, domain, signal }: MailTurn, send: (pool: Pool) => Promise<T>): Promise<T> {
    const entry = this.#entry(organization)
    const ends = signal ? { signal } : {}
    entry.messages++
    try {
      return await entry.limiter.run({ organization, key: domain, ...ends }, () =>
        this.#all.run({ organization, ...ends }, async () => send(await entry.pool)),
      )
    } finally {
      entry.messages--
      entry.usedAt = this.#args.clock.monotonic()
    }
  }

  async close(): Promise<void> {
    this.#cancelSweep?.()
    const entries = [...this.#entries.values()]
    this.#entries.clear()
    await allDone(entries.map(async ({ pool }) => (await pool).close()))
  }

  #entry(organization: string): Entry {
    const { url, clock, maxConnections } = this.#args
    let entry = this.#entries.get(organization)
    if (!entry) {
      const pool = openPool(url, maxConnections)
      entry = { pool, limiter: limiter({ slots: maxConnections, keyShare: 3 }, clock), messages: 0, usedAt: clock.monotonic() }
      this.#entries.set(organization, entry)
    }
    this.#cancelSweep ??= clock.after(idleMs, () => this.#sweep())
    return entry
  }

  #sweep(): void {
    const before = this.#args.clock.monotonic() - idleMs
    for (const [organization, { pool, messages, usedAt }] of this.#entries) {
      if (messages > 0 || usedAt > before) continue
      this.#entries.delete(organization)
      pool.then((one) => one.close()).catch(() => undefined)
    }
    this.#cancelSweep = this.#entries.size > 0 ? this.#args.clock.after(idleMs, () => this.#sweep()) : undefined
  }
}

function limiter(options: { slots: number; reservedSlots?: number; keyShare?: number }, clock: Clock): FairLimiter {
  return new FairLimiter({
    ...options,
    // A node has a bounded number of jobs, and therefore of messages.
    maxWaiting: Number.POSITIVE_INFINITY,
    refusal: () => new AppError("unavailable", "Too many messages wait for a connection.", { reason: "overloaded" }),
    now: () => clock.monotonic(),
  })
}

/** Message fields in addition to nodemailer's. */
export interface Handed {
  /** Called after the whole message was read for writing to the server. */
  readonly handedOver?: () => void
}

/** Opens a pool. Imports nodemailer late, because a command declares the plugin and sends no mail. */
async function openPool(url: string, maxConnections: number) {
  const { createTransport } = await import("nodemailer")
  const transporter = createTransport({
    url,
    pool: true,
    maxConnections,
    maxMessages: 100,
    maxRequeues: 0,
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    // Longest time for a server to confirm a message (RFC 5321, 4.5.3.2.6). Callers have shorter deadlines.
    socketTimeout: 600_000,
  })
  transporter.use("stream", (mail, done) => {
    const { message, data } = mail
    const create = message.createReadStream.bind(message)
    message.createReadStream = (options) => create(options).once("end", () => (data as Handed).handedOver?.())
    done()
  })
  return transporter
}
