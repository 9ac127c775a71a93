// Asks the name servers of a zone themselves, so that a record counts as soon as it is there, also while caches hold an older one. Where
// none of them answers, the recursive server's answer holds, as that of a cache.
import ipaddr from "ipaddr.js"
import type { DnsServer } from "../settings.ts"
import { type AskServer, type Known, type Lookup, serverText } from "./lookup.ts"

/** Name servers that are asked, of one zone; all at once. */
const maxServers = 3
/** Labels that are taken off a name to find its zone. */
const maxSteps = 10

export interface AuthoritativeParts {
  readonly recursive: Lookup
  readonly ask: AskServer
  /** Those of the settings: the only ones that may have private addresses, and be at another port than 53. */
  readonly configured: readonly DnsServer[]
}

/** A look-up that remembers which servers a zone has: for one check. */
export function authoritativeLookup({ recursive, ask, configured }: AuthoritativeParts): Lookup {
  const zones = new Map<string, Promise<readonly string[]>>()

  const nameServers = (name: string) => {
    const known = zones.get(name)
    if (known) return known
    const asked = recursive(name, "NS").then((answer) => (answer.known ? answer.values.slice(0, maxServers) : []))
    zones.set(name, asked)
    return asked
  }

  /** Of the zone that a name is in. */
  const serversOf = async (name: string): Promise<DnsServer[]> => {
    // Names with an underscore begin no zone, or hardly ever: then its parent's servers do not tell.
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

/** Rejects for a server that does not know the zone, and where the name is an alias whose target is in another one. */
async function toldBy(server: DnsServer, ask: () => ReturnType<Lookup>): Promise<Known> {
  const answer = await ask()
  if (answer.known && answer.authoritative && !answer.alias) return answer
  throw new Error(`${serverText(server)} does not tell`)
}

/** A zone's owner says what its servers' addresses are; private ones would lead into the operator's network. */
function reachable(address: string, configured: readonly DnsServer[]): DnsServer[] {
  const own = configured.find((server) => server.address === address)
  if (own) return [own]
  return ipaddr.isValid(address) && ipaddr.parse(address).range() === "unicast" ? [{ address, port: 53 }] : []
}
