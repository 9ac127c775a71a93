// Limits per client, per organization and for all clients: connections, messages and bytes per minute, and memory.
import type { RateLimiter } from "#core"
import { networkOf } from "#core/engine"
import type { Settings } from "../settings.ts"

export class SmtpLimits {
  readonly #settings: Settings
  readonly #limiter: RateLimiter
  #bufferedBytes = 0

  constructor(settings: Settings, limiter: RateLimiter) {
    this.#settings = settings
    this.#limiter = limiter
  }

  /** Acquires a connection permit for the client. Release the permit when the connection closes. */
  async connect(address: string): Promise<() => void> {
    const limit = this.#settings.max_connections_per_address
    const release = await this.#limiter.acquire({ id: `inbound-mail-connections:${networkOf(address)}`, limit })
    if (release) return release
    throw new SmtpRefusal(421, "4.7.0", `More than ${limit} connections from ${address}; close one first`)
  }

  /** Counts a message of the client. Throws beyond the limit. */
  async message(address: string): Promise<void> {
    const limit = this.#settings.messages_per_minute_per_address
    const { allowed } = await this.#limiter.consume([{ id: `inbound-mail:${networkOf(address)}`, limit }])
    if (!allowed) throw new SmtpRefusal(450, "4.7.1", `More than ${limit} messages a minute from ${address}; try again later`)
  }

  /** Counts the bytes of a client's message. Throws if earlier messages used up the limit. */
  async bytes(address: string, size: number): Promise<void> {
    const limit = this.#settings.bytes_per_minute_per_address
    const { allowed } = await this.#limiter.consume([{ id: `inbound-mail-bytes:${networkOf(address)}`, limit, cost: size }])
    if (!allowed) throw new SmtpRefusal(450, "4.7.1", `More than ${limit} bytes a minute from ${address}; try again later`)
  }

  /** Counts a message and its bytes for the recipient's organization. Throws beyond the limits. */
  async recipient(organization: string, size: number): Promise<void> {
    const { messages_per_minute_per_organization, bytes_per_minute_per_organization } = this.#settings
    const { allowed } = await this.#limiter.consume([
      { id: `inbound-mail-organization:${organization}`, limit: messages_per_minute_per_organization },
      { id: `inbound-mail-organization-bytes:${organization}`, limit: bytes_per_minute_per_organization, cost: size },
    ])
    if (!allowed) throw new SmtpRefusal(452, "4.2.1", "The recipient gets too much mail at the moment; try again later")
  }

  /** Reads a message within the limits of message size and shared memory. Drains and drops the remainder of a too large message. */
  async read<T>(stream: AsyncIterable<Buffer>, use: (raw: Buffer<ArrayBuffer>) => Promise<T>): Promise<T> {
    const { max_message_bytes, max_buffered_bytes } = this.#settings
    const chunks: Buffer[] = []
    let [size, taken] = [0, 0]
    let refusal: SmtpRefusal | undefined
    try {
      for await (const chunk of stream) {
        size += chunk.length
        if (size > max_message_bytes)
          refusal = new SmtpRefusal(552, "5.3.4", `The message is larger than the limit of ${max_message_bytes} bytes`)
        else if (this.#bufferedBytes + chunk.length > max_buffered_bytes)
          refusal ??= new SmtpRefusal(452, "4.3.1", "Too much mail comes in at the moment; try again later")
        if (refusal) {
          this.#bufferedBytes -= taken
          taken = 0
          chunks.length = 0
          continue
        }
        this.#bufferedBytes += chunk.length
        taken += chunk.length
        chunks.push(chunk)
      }
      if (refusal) throw refusal
      return await use(Buffer.concat(chunks))
    } finally {
      this.#bufferedBytes -= taken
    }
  }
}

/** A refusal for SMTP clients: a status (RFC 5321), an enhanced status (RFC 3463), and a remedy. */
export class SmtpRefusal extends Error {
  readonly responseCode: number
  /** Such as 5.7.1. */
  readonly enhanced: string

  constructor(code: number, enhanced: string, message: string) {
    super(`${enhanced} ${message}`)
    this.responseCode = code
    this.enhanced = enhanced
  }
}

/** Converts an error to an SMTP answer: a refusal unchanged, other errors as "try again later". */
export function refusalFor(error: unknown): SmtpRefusal {
  return error instanceof SmtpRefusal ? error : new SmtpRefusal(451, "4.3.0", "The service cannot take mail now; try again later")
}
