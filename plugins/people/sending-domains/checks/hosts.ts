// Records with a host of the service: the return path and the mail server.
import type { Lookup } from "../dns/lookup.ts"
import type { ExpectedRecord } from "../registrations.ts"
import { exchangeOf } from "./receiver.ts"
import type { Fault } from "./record-check.ts"

const maxAliases = 8

interface Lookups {
  readonly own: Lookup
  readonly any: Lookup
}

/** Checks that the CNAME leads to the service's host, also through several aliases. */
export async function returnPathFault(
  { own, any }: Lookups,
  expected: ExpectedRecord,
  values: readonly string[],
): Promise<Fault | Error | undefined> {
  const different: Fault = { problem: "different", fix: `Point the CNAME ${expected.name} to ${expected.value}` }
  let names = values
  for (let step = 0; step < maxAliases && names.length > 0; step++) {
    if (names.includes(expected.value)) return undefined
    const answer = await any(names.at(-1) ?? "", "CNAME")
    if (!answer.known) return new Error(answer.why)
    names = answer.values
  }
  if (values.length > 0) return different
  const addresses = await own(expected.name, "A")
  if (!addresses.known) return new Error(addresses.why)
  if (addresses.values.length === 0)
    return { problem: "missing", fix: `Create the ${expected.type} record ${expected.name} with the value ${expected.value}` }
  return {
    problem: "proxied",
    fix: `${expected.name} has addresses (${addresses.values.join(", ")}) in place of the CNAME, as a proxy makes them. Switch the proxy off for it (DNS only), with the target ${expected.value}`,
  }
}

/** Senders try the lowest number first. Servers with a higher number are backups. */
export function mxFault(expected: ExpectedRecord, values: readonly string[]): Fault | undefined {
  if (values.length === 0)
    return { problem: "missing", fix: `Create the ${expected.type} record ${expected.name} with the value ${expected.value}` }
  const host = exchangeOf(expected.value).exchange
  const exchanges = values.map(exchangeOf)
  const best = Math.min(...exchanges.map(({ priority }) => priority))
  return exchanges.every(({ priority, exchange }) => priority > best || exchange === host)
    ? undefined
    : { problem: "different", fix: `Mail would go elsewhere first. Let the MX records of ${expected.name} be ${expected.value} alone` }
}
