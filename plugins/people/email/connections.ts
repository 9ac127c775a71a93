// SMTP connections, pooled by organization. Messages to one recipient domain take at most three quarters of them, so that a
// domain whose messages hang leaves connections to the others. Pools without messages are closed.
import { AppError, allDone, type Clock } from "#core"
import { FairLimiter } from "#core/engine"

export interface MailConnectionsArgs {
  readonly url: string
  readonly clock: Clock
  /** Of one organization. */
  readonly maxConnections: number
}

/** Connections of all organizations, as a multiple of those of one. A quarter is for organizations without a message. */
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

  /** Hands over a pool once the message has a connection. Rejects with the signal's reason if that comes first. */
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
    // The jobs that a node holds are bounded, and so are their messages.
    maxWaiting: Number.POSITIVE_INFINITY,
    refusal: () => new AppError("unavailable", "Too many messages wait for a connection.", { reason: "overloaded" }),
    now: () => clock.monotonic(),
  })
}

/** What a message carries beside what nodemailer reads. */
export interface Handed {
  /** Called when all of the message was read to be written to the server. */
  readonly handedOver?: () => void
}

/** A command declares the plugin and sends nothing. */
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
    // As long as a server may take over the end of a message (RFC 5321, 4.5.3.2.6); deadlines of callers come first.
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
