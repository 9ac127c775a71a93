// A browser as far as OAuth needs one: it follows redirects and keeps cookies, each for its origin.

export interface Seen {
  readonly url: string
  readonly status: number
  readonly text: string
}

export class Browser {
  readonly #cookies = new Map<string, Map<string, string>>()
  /** Every Set-Cookie of every answer. */
  readonly given: string[] = []

  /** Opens a URL and follows redirects, until an answer is none or the next URL is one that `stops` names. */
  async open(start: string, stops: (url: string) => boolean = () => false): Promise<Seen> {
    let url = start
    for (let hops = 0; hops < 20; hops++) {
      const { origin } = new URL(url)
      const jar = this.#cookies.get(origin) ?? new Map<string, string>()
      this.#cookies.set(origin, jar)
      const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ")
      const answer = await fetch(url, { redirect: "manual", headers: cookie ? { cookie } : {} })
      for (const line of answer.headers.getSetCookie()) {
        this.given.push(line)
        const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? []
        if (value === "" || /expires=Thu, 01 Jan 1970/i.test(line)) jar.delete(name)
        else jar.set(name, value)
      }
      const location = answer.headers.get("location")
      const text = await answer.text()
      if (answer.status < 300 || answer.status > 399 || location === null) return { url, status: answer.status, text }
      url = new URL(location, url).href
      if (stops(url)) return { url, status: answer.status, text }
    }
    throw new Error(`Too many redirects from ${start}.`)
  }
}
