// Where a request comes from: the peer's address, or what trusted proxies say in X-Forwarded-For, read from the right
// as far as each hop is trusted, so that nobody can put an address of their choice in front.
import ipaddr from "ipaddr.js"

export interface AddressedRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly socket: { readonly remoteAddress?: string | undefined }
}

/** Reads addresses as these proxies (addresses or CIDR blocks) are trusted. Throws for one that is neither. */
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

/** What limits count by: an IPv4 address, or the /64 network of an IPv6 one, since one host has all of it. */
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

/** Without the brackets and port that some proxies add, and IPv4 as IPv4. */
function plain(text: string): string {
  const bare = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text)?.[1] ?? text
  return parsedAddress(bare)?.toString() ?? bare
}
