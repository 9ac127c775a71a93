// Authenticates the sender with SPF, DKIM and DMARC. Uses mailauth and the service's own DNS lookups.
import { authenticate } from "mailauth"
import type { DnsAnswer } from "../../sending-domains/index.ts"

/** Limit of DNS lookups per message. Further signatures are not checked. */
const maxLookups = 50

export interface Authentication {
  /** `none`, `pass`, `fail`, `softfail`, `neutral`, `temperror`, `permerror`. */
  readonly spf: string
  /** `pass` if any signature of the author's domain passes. Otherwise the first result. */
  readonly dkim: string
  readonly dmarc: string
  /** Policy of the author's domain for failed DMARC: `none`, `quarantine`, `reject`. Empty without a policy. */
  readonly policy: string
  /** Domains with a valid signature. */
  readonly signed_by: readonly string[]
  /** Value of `Authentication-Results` (RFC 8601). */
  readonly header: string
}

export interface Origin {
  readonly ip: string
  readonly helo: string
  /** The envelope sender. */
  readonly sender: string
  /** Host name of the checking server. */
  readonly mta: string
}

export type AskDns = (name: string, type: string) => Promise<DnsAnswer>

export async function authenticationOf(raw: Uint8Array, { ip, helo, sender, mta }: Origin, ask: AskDns): Promise<Authentication> {
  const resolver = boundedResolver(ask)
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
  const options = { ip, helo, sender, mta, resolver, trustReceived: false, disableArc: true, disableBimi: true }
  const { spf, dkim, dmarc, dmarcSkipReason, headers } = await authenticate(bytes, options)
  const signatures = dkim.results.slice(0, 20)
  const passing = signatures.filter(({ status }) => status.result === "pass")
  const verdict = dmarc || undefined
  // The message lacks a single author domain (RFC 9989 section 11.5).
  const suspicious = dmarcSkipReason !== undefined
  return {
    spf: spf ? spf.status.result : "none",
    dkim: (passing.find(({ status }) => status.aligned) ?? passing[0] ?? signatures[0])?.status.result ?? "none",
    dmarc: suspicious ? "fail" : (verdict?.status.result ?? "none"),
    policy: suspicious ? "quarantine" : (verdict?.policy ?? ""),
    signed_by: [...new Set(passing.map(({ signingDomain = "" }) => signingDomain))],
    header: resultsIn(headers),
  }
}

function resultsIn(headers: string): string {
  const value = /^Authentication-Results:([^\r\n]*(?:\r?\n[ \t][^\r\n]*)*)/im.exec(headers)?.[1] ?? ""
  return value
    .replace(/[\p{Cc}\s]+/gu, " ")
    .trim()
    .slice(0, 2_000)
    .toWellFormed()
}

/** Converts answers to the form of Node's resolver, as mailauth expects. */
function boundedResolver(ask: AskDns) {
  let asked = 0
  return async (name: string, type: string): Promise<string[][] | string[]> => {
    if (++asked > maxLookups) throw dnsError("ETIMEOUT", name)
    if (!["A", "AAAA", "CNAME", "MX", "TXT"].includes(type)) throw dnsError("ENOTFOUND", name)
    const answer = await ask(name, type)
    if (!answer.known) throw dnsError("ETIMEOUT", name)
    if (answer.values.length === 0) throw dnsError("ENODATA", name)
    if (type === "TXT") return answer.values.map((value) => [value])
    if (type !== "MX") return [...answer.values]
    const exchanges = answer.values.map((value) => ({
      priority: Number.parseInt(value, 10),
      exchange: value.slice(value.indexOf(" ") + 1),
    }))
    return exchanges as unknown as string[]
  }
}

function dnsError(code: string, name: string): Error {
  return Object.assign(new Error(`${code} ${name}`), { code })
}
