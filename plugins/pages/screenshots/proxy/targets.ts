// Parses proxy requests of a browser: `CONNECT host:port` and `GET http://host/path`. Detects this service's own published pages.
// They may be reached even if the service has a private address.

export interface OwnPages {
  /** Scheme, host and port of pages: those of the public URL and of the page origin. */
  readonly origins: readonly string[]
  /** Path prefix of published pages, slashes included. */
  readonly prefix: string
}

export interface Forwarded {
  readonly host: string
  readonly port: number
  /** Path and query, in the URL standard's form. */
  readonly path: string
  readonly ours: boolean
  /** A request other than reading to this service's own origin. A screenshot creates no lead and no event. */
  readonly sends: boolean
}

/** Returns undefined unless the text is an absolute http URL without credentials. */
export function parseForwarded(method: string, text: string, own: OwnPages): Forwarded | undefined {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  if (url.protocol !== "http:" || url.username || url.password) return undefined
  const reads = method === "GET" || method === "HEAD"
  const ours = isOwnPage(url, own) && reads
  const sends = own.origins.includes(url.origin) && !reads
  return { host: bare(url.hostname), port: Number(url.port || 80), path: url.pathname + url.search, ours, sends }
}

/** `URL` has resolved `..` in the path, in any notation. Remaining encoded forms are refused. */
export function isOwnPage(url: URL, own: OwnPages): boolean {
  return own.origins.includes(url.origin) && url.pathname.startsWith(own.prefix) && !/%2f|%5c|%2e|\\|\/\//i.test(url.pathname)
}

/** Returns true if a tunnel to this target may lead to own pages. The paths inside a tunnel are invisible. */
export function isOwnTunnel(host: string, port: number, own: OwnPages): boolean {
  return own.origins.some((origin) => origin.startsWith("https:") && targetOfUrl(origin) === targetOf(host, port))
}

export function parseAuthority(text: string): { host: string; port: number } | undefined {
  const match = /^(\[[0-9a-f:.]+\]|[^:/?#@[\]\s]+):(\d{1,5})$/i.exec(text)
  const port = Number(match?.[2])
  return match?.[1] && port > 0 && port < 65_536 ? { host: bare(match[1]), port } : undefined
}

/** Key of a target in the stored failures. */
export function targetOf(host: string, port: number): string {
  return `${bare(host).toLowerCase()}:${port}`
}

export function targetOfUrl(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  const port = Number(url.port || (url.protocol === "https:" ? 443 : 80))
  return targetOf(url.hostname, port)
}

const hopByHop = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
])

/** Removes hop-by-hop headers (RFC 9110, section 7.6.1) from raw header pairs. */
export function forwardedHeaders(raw: readonly string[]): string[] {
  const names = new Set<string>()
  for (let at = 0; at + 1 < raw.length; at += 2) {
    if (raw[at]?.toLowerCase() === "connection") for (const name of (raw[at + 1] ?? "").split(",")) names.add(name.trim().toLowerCase())
  }
  const headers: string[] = []
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at] ?? ""
    if (!hopByHop.has(name.toLowerCase()) && !names.has(name.toLowerCase())) headers.push(name, raw[at + 1] ?? "")
  }
  return headers
}

function bare(host: string): string {
  return host.replace(/^\[|\]$/g, "")
}
