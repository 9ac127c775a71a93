// Judges a domain's records from the view of a receiving mail server: SPF (RFC 7208), DKIM (RFC 6376), DMARC (RFC 9989). The
// library mailauth runs in strict mode, so an accepted record also passes at strict receivers.
import type { DNSResolver } from "mailauth"
import type { Answer, Lookup, RecordType } from "../dns/lookup.ts"

/** `unknown`: DNS did not answer. */
export type Verdict =
  | { readonly result: "pass" }
  | { readonly result: "fail"; readonly why: string }
  | { readonly result: "unknown"; readonly why: string }

/** Limit of a TXT record, characters. */
const maxText = 16_384
const types: readonly string[] = ["A", "AAAA", "CNAME", "MX", "TXT"] satisfies RecordType[]

/** A sample message of the domain, signed with its key. */
export interface SignedSample {
  readonly message: Buffer
}

export interface SigningKey {
  readonly domain: string
  readonly selector: string
  /** PEM. */
  readonly privateKey: string
}

export async function signSample({ domain, selector, privateKey }: SigningKey): Promise<SignedSample> {
  const { dkimSign } = await import("mailauth")
  const text = `From: <hello@${domain}>\r\nTo: <reader@example.com>\r\nSubject: Hello\r\nDate: Thu, 01 Jan 2026 00:00:00 +0000\r\nMessage-ID: <1@${domain}>\r\n\r\nHello.\r\n`
  const key = { signingDomain: domain, selector, privateKey }
  const { signatures, errors } = await dkimSign(text, {
    canonicalization: "relaxed/relaxed",
    algorithm: "rsa-sha256",
    ...key,
    signatureData: [key],
  })
  if (errors.length > 0) throw new Error(`The sample of ${domain} could not be signed: ${errors[0]?.err.message}`)
  return { message: Buffer.from(`${signatures}${text}`) }
}

/** Evaluates the SPF record of a domain for one client. `record` replaces the published record. */
export async function spfVerdict(lookup: Lookup, domain: string, ip: string, record?: string): Promise<Verdict> {
  const { spf } = await import("mailauth")
  const { resolver, failure } = resolverOf(lookup, record === undefined ? undefined : { name: domain, text: record })
  const { status } = await spf({ ip, sender: `bounces@${domain}`, helo: domain, mta: "receiver", resolver, strict: true })
  return verdictOf(status, failure())
}

/** Verifies the signature of a sample. */
export async function dkimVerdict(lookup: Lookup, { message }: SignedSample): Promise<Verdict> {
  const { dkimVerify } = await import("mailauth")
  const { resolver, failure } = resolverOf(lookup)
  const { results } = await dkimVerify(message, { resolver, strict: true })
  const status = results[0]?.status
  return status ? verdictOf(status, failure()) : { result: "fail", why: "the sample has no signature" }
}

/** Evaluates DMARC for mail of a domain with an aligned signature. */
export async function dmarcVerdict(lookup: Lookup, domain: string): Promise<Verdict> {
  const { dmarc } = await import("mailauth")
  const { resolver, failure } = resolverOf(lookup)
  const judged = await dmarc({ headerFrom: `hello@${domain}`, spfDomains: [], dkimDomains: [{ domain }], resolver, strict: true })
  return judged ? verdictOf(judged.status, failure()) : { result: "fail", why: "none" }
}

interface Status {
  readonly result: string
  readonly comment?: string | false | undefined
}

function verdictOf({ result, comment }: Status, failure: string | undefined): Verdict {
  if (result === "pass") return { result: "pass" }
  if (result === "temperror") return { result: "unknown", why: failure ?? "temporary error" }
  // mailauth adds the receiver and the addresses in front.
  const why = comment ? comment.replace(/^receiver: /, "").slice(0, 300) : ""
  return { result: "fail", why: why === "" ? result : `${result}: ${why}` }
}

/** Returns a resolver with the interface of Node's. `failure` returns the last question without an answer. */
function resolverOf(
  lookup: Lookup,
  instead?: { readonly name: string; readonly text: string },
): { readonly resolver: DNSResolver; failure(): string | undefined } {
  let failure: string | undefined
  const resolver = async (name: string, type: string): Promise<string[][] | string[]> => {
    if (!types.includes(type)) throw dnsError("ENOTFOUND", name)
    const answer: Answer =
      type === "TXT" && name === instead?.name
        ? { known: true, values: [instead.text], authoritative: true, ttl: null }
        : await lookup(name, type as RecordType)
    if (!answer.known) {
      failure = answer.why
      throw dnsError("ETIMEOUT", name)
    }
    if (answer.values.length === 0) throw dnsError("ENODATA", name)
    if (type === "TXT") return answer.values.map((value) => [value.slice(0, maxText)])
    if (type === "MX") return answer.values.map(exchangeOf) as unknown as string[]
    return [...answer.values]
  }
  return { resolver, failure: () => failure }
}

export function exchangeOf(value: string): { readonly priority: number; readonly exchange: string } {
  return { priority: Number.parseInt(value, 10), exchange: value.slice(value.indexOf(" ") + 1) }
}

function dnsError(code: string, name: string): Error {
  return Object.assign(new Error(`${code} ${name}`), { code })
}
