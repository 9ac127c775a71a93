// The client address of a request: the peer's address, or an entry of X-Forwarded-For behind trusted proxies. The header is read
// from the right as far as each hop is trusted. A client therefore cannot forge its address.
import ipaddr from "ipaddr.js"

export interface AddressedRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly socket: { readonly remoteAddress?: string | undefined }
}

/** Returns a reader for requests behind these proxies (addresses or CIDR blocks). Throws for any other text. */
export function clientAddressReader(trusted: readonly string[]): (request: AddressedRequest) => string {
  const blocks = trusted.map(blockOf)
  const isTrusted = (address: string) => {
    const parsed = parsedAddress(address)
    return parsed !== undefined && blocks.some(([base, bits]) => parsed.kind() === base.kind() && parsed.match(base, bits))
  }
  return ({ headers, socket }) => {
    let address = plain(socket.remoteAddress ?? "")
    const forwarded = blocks.length === 0 ? undefined : headers["x-forwarded-for"]
    if (forwarded === undefined) return address
    const hops = String(forwarded)
      .split(",")
      .map((hop) => plain(hop.trim()))
    while (isTrusted(address)) {
      const hop = hops.pop()
      if (hop === undefined || parsedAddress(hop) === undefined) break
      address = hop
    }
    return address
  }
}

/** Returns the unit of rate limits: an IPv4 address, or the /64 network of an IPv6 address. One host owns the whole network. */
export function networkOf(address: string): string {
  const parsed = parsedAddress(address)
  if (parsed === undefined || parsed.kind() === "ipv4") return address
  return `${(parsed as ipaddr.IPv6).parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(":")}::/64`
}

function blockOf(text: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  try {
    if (text.includes("/")) return ipaddr.parseCIDR(text)
    const address = ipaddr.process(text)
    return [address, address.kind() === "ipv4" ? 32 : 128]
  } catch {
    throw new Error(`server.trust_proxy: "${text}" is neither an address nor a block such as 10.0.0.0/8.`)
  }
}

function parsedAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  return ipaddr.isValid(text) ? ipaddr.process(text) : undefined
}

/** Strips the brackets and port of some proxies, and shortens mapped IPv4 to IPv4. */
function plain(text: string): string {
  const bare = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text)?.[1] ?? text
  return parsedAddress(bare)?.toString() ?? bare
}
