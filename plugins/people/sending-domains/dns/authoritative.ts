// Queries the name servers of a zone directly. A new record then counts at once, even while caches have an older record. If no
// server answers, the recursive server's answer counts, as a cached answer.
import ipaddr from "ipaddr.js"
import type { DnsServer } from "../settings.ts"
import { type AskServer, type Known, type Lookup, serverText } from "./lookup.ts"

/** Name servers queried per zone, in parallel. */
const maxServers = 3
/** Limit of labels removed from a name to find its zone. */
const maxSteps = 10

export interface AuthoritativeParts {
  readonly recursive: Lookup
  readonly ask: AskServer
  /** Servers of the settings. Only these may have private addresses or another port than 53. */
  readonly configured: readonly DnsServer[]
}

/** Returns a lookup with a cache of zone servers, for a single check. */
export function authoritativeLookup({ recursive, ask, configured }: AuthoritativeParts): Lookup {
  const zones = new Map<string, Promise<readonly string[]>>()

  const nameServers = (name: string) => {
    const known = zones.get(name)
    if (known) return known
    const asked = recursive(name, "NS").then((answer) => (answer.known ? answer.values.slice(0, maxServers) : []))
    zones.set(name, asked)
    return asked
  }

  /** Returns the servers of a name's zone. */
  const serversOf = async (name: string): Promise<DnsServer[]> => {
    // Names with an underscore rarely start a zone, so the search begins at the parent.
    const labels = name.replace(/^.*_[^.]*\./, "").split(".")
    for (let at = 0; at < Math.min(labels.length - 1, maxSteps); at++) {
      const hosts = await nameServers(labels.slice(at).join("."))
      if (hosts.length === 0) continue
      const addresses = await Promise.all(hosts.map((host) => recursive(host, "A")))
      return addresses.flatMap((answer) => (answer.known ? answer.values.slice(0, 1) : [])).flatMap((one) => reachable(one, configured))
    }
    return []
  }

  return async (name, type) => {
    const servers = await serversOf(name)
    try {
      return await Promise.any(servers.map((server) => toldBy(server, () => ask(server, { name, type, recursive: false }))))
    } catch {
      return recursive(name, type)
    }
  }
}

/** Rejects if the server does not know the zone, or if the name is an alias into another zone. */
async function toldBy(server: DnsServer, ask: () => ReturnType<Lookup>): Promise<Known> {
  const answer = await ask()
  if (answer.known && answer.authoritative && !answer.alias) return answer
  throw new Error(`${serverText(server)} does not tell`)
}

/**
 * Returns a server for a public or configured address, else an empty list. A zone's owner controls the addresses of its servers.
 * A private address would lead into the operator's network.
 */
function reachable(address: string, configured: readonly DnsServer[]): DnsServer[] {
  const own = configured.find((server) => server.address === address)
  if (own) return [own]
  return ipaddr.isValid(address) && ipaddr.parse(address).range() === "unicast" ? [{ address, port: 53 }] : []
}
