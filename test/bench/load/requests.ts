// Requests as bytes, created and signed before the measurement. All are in one buffer, so sending one costs only a view, and
// thousands cost the garbage collector nothing.
import { createHmac } from "node:crypto"
import { type BodySpec, bodyOf } from "./bodies.ts"

export interface RequestSpec {
  readonly url: string
  readonly body: BodySpec
  /** Prefix of emails and ids, unique to each run. */
  readonly prefix: string
  /** Headers of every request, in addition to the content type. */
  readonly headers?: Readonly<Record<string, string>>
  /** A header with `sha256=` and the HMAC of the body. */
  readonly hmac?: { readonly header: string; readonly secret: string }
}

/** Memory bound of prepared requests. A run that has sent all of them ends early. */
const maxBytes = 512 << 20
/** Later request numbers have more digits. */
const growth = 256

export class RequestPool {
  readonly count: number
  readonly #bytes: Buffer
  readonly #ends: Uint32Array
  #next = 0

  constructor(spec: RequestSpec, expected: number) {
    const value = requestOf(spec, 0).length + growth
    this.count = Math.max(1, Math.min(expected, Math.floor(maxBytes / value)))
    this.#bytes = Buffer.allocUnsafeSlow(this.count * value)
    this.#ends = new Uint32Array(this.count)
    let end = 0
    for (let index = 0; index < this.count; index++) {
      end += requestOf(spec, index).copy(this.#bytes, end)
      this.#ends[index] = end
    }
  }

  get left(): number {
    return this.count - this.#next
  }

  /** Returns the next request; restarts after the last. */
  take(): Buffer {
    const index = this.#next === this.count ? 0 : this.#next
    this.#next = index + 1
    return this.#bytes.subarray(index === 0 ? 0 : this.#ends[index - 1], this.#ends[index])
  }
}

function requestOf({ url, prefix, body: spec, headers, hmac }: RequestSpec, index: number): Buffer {
  const { host, pathname } = new URL(url)
  const { body, headers: own } = bodyOf(spec, `${prefix}-${index}`, index)
  const lines = [
    `POST ${pathname} HTTP/1.1`,
    `host: ${host}`,
    "connection: keep-alive",
    "content-type: application/json",
    `content-length: ${body.length}`,
    ...Object.entries({ ...headers, ...own }).map(([name, value]) => `${name}: ${value}`),
  ]
  if (hmac) lines.push(`${hmac.header}: sha256=${createHmac("sha256", hmac.secret).update(body).digest("hex")}`)
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body}`)
}
