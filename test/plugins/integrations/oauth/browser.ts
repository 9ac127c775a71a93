// A minimal browser for OAuth: follows redirects and stores cookies by origin.

export interface Seen {
  readonly url: string
  readonly status: number
  readonly text: string
}

export class Browser {
  readonly #cookies = new Map<string, Map<string, string>>()
  /** Every Set-Cookie header received. */
  readonly given: string[] = []

  /** Pages with a request to continue. */
  readonly asked: string[] = []

  /** Opens a URL. Follows redirects and continue links until a final answer, or until `stops` matches the next URL. */
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
      const text = await answer.text()
      const link = /<a id="continue"[^>]* href="([^"]+)"/.exec(text)?.[1]
      if (link !== undefined) this.asked.push(text)
      const location = answer.headers.get("location") ?? link?.replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
      if (location === undefined || (link === undefined && (answer.status < 300 || answer.status > 399))) {
        return { url, status: answer.status, text }
      }
      url = new URL(location, url).href
      if (stops(url)) return { url, status: answer.status, text }
    }
    throw new Error(`Too many redirects from ${start}.`)
  }
}
