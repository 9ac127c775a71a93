// Fetches published keys of providers, and confirms subscriptions at their URLs. The caller checks the host against the
// provider's own hosts. Requests use https without redirects, with small bounds on size and time.
import { token } from "#core"

export interface KeyFetcher {
  /** Returns the body of a 2xx response as text. Rejects otherwise. */
  get(url: string): Promise<string>
}

export const KeyFetcher = token<KeyFetcher>("KeyFetcher")

const deadline_ms = 5_000
const largest = 64 * 1_024

export function createKeyFetcher(request: (url: string, init: RequestInit) => Promise<Response> = fetch): KeyFetcher {
  return {
    async get(url) {
      if (!url.startsWith("https://")) throw new Error(`Keys are fetched over https only, not from ${url}.`)
      const response = await request(url, { redirect: "error", signal: AbortSignal.timeout(deadline_ms) })
      if (!response.ok) throw new Error(`${new URL(url).host} answered ${response.status}.`)
      return readText(response)
    },
  }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    if (size > largest) throw new Error(`The key document is larger than ${largest} bytes.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString("utf8")
}

/** Caches fetched keys and shares fetches in progress. Failures are not cached. */
export class FetchedKeys<T> {
  readonly #fetcher: KeyFetcher
  readonly #parse: (text: string) => T | Promise<T>
  readonly #entries = new Map<string, { readonly value: Promise<T>; readonly at: number }>()

  constructor(fetcher: KeyFetcher, parse: (text: string) => T | Promise<T>) {
    this.#fetcher = fetcher
    this.#parse = parse
  }

  /** `olderThan`: keys fetched before this time are fetched again. */
  get(url: string, now: number, olderThan = Number.NEGATIVE_INFINITY): Promise<T> {
    const cached = this.#entries.get(url)
    if (cached !== undefined && cached.at >= olderThan) return cached.value
    if (this.#entries.size >= 32) this.#entries.clear()
    const value = this.#fetcher.get(url).then(this.#parse)
    const entry = { value, at: now }
    this.#entries.set(url, entry)
    value.catch(() => {
      if (this.#entries.get(url) === entry) this.#entries.delete(url)
    })
    return value
  }
}
