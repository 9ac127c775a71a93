// Addresses that the service's own SPF record lists: a receiver's view of the servers that send.
import type { Lookup } from "../dns/lookup.ts"
import { exchangeOf } from "./receiver.ts"
import { lookupsIn } from "./spf-lookups.ts"
import { readTerms, spfRecords } from "./spf-terms.ts"

const maxAddresses = 8
const maxRecords = 10

/** Returns one address of each network, several at most; an Error if DNS does not answer. */
export async function sendingAddresses(lookup: Lookup, host: string): Promise<string[] | Error> {
  const addresses: string[] = []
  const hosts = [host]
  for (const name of hosts) {
    if (hosts.length > maxRecords || addresses.length >= maxAddresses) break
    const answer = await lookup(name, "TXT")
    if (!answer.known) return new Error(answer.why)
    const [record = ""] = spfRecords(answer.values)
    addresses.push(...readTerms(record).flatMap((term) => /^\+?ip[46]:([\da-f.:]+)/i.exec(term)?.[1] ?? []))
    const passing = lookupsIn(record, name).filter(({ term, target }) => !/^[-~?]/.test(term) && !target.includes("%"))
    hosts.push(...passing.flatMap(({ kind, target }) => (kind === "include" && !hosts.includes(target) ? [target] : [])))
    for (const { kind, target } of passing) addresses.push(...(await hostAddresses(lookup, kind, target)))
  }
  return [...new Set(addresses)].slice(0, maxAddresses)
}

async function hostAddresses(lookup: Lookup, kind: string, target: string): Promise<readonly string[]> {
  if (kind === "a") return valuesOf(lookup, target, "A")
  if (kind !== "mx") return []
  const exchanges = (await valuesOf(lookup, target, "MX")).map((value) => exchangeOf(value).exchange)
  return (await Promise.all(exchanges.slice(0, maxAddresses).map((one) => valuesOf(lookup, one, "A")))).flat()
}

async function valuesOf(lookup: Lookup, name: string, type: "A" | "MX"): Promise<readonly string[]> {
  const answer = await lookup(name, type)
  return answer.known ? answer.values : []
}
