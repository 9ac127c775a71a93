// The records that a customer creates for a domain.
import type { DomainName } from "./domain-name.ts"
import type { Settings } from "./settings.ts"

type RecordKind = "dkim" | "spf" | "return_path" | "dmarc" | "mx"

export interface ExpectedRecord {
  kind: RecordKind
  name: string
  type: "CNAME" | "MX" | "TXT"
  value: string
}

interface RecordsOf {
  readonly domain: DomainName["name"]
  readonly selector: string
  /** base64 of the DER of the public key. */
  readonly publicKey: string
  /** Whether to offer the MX record. */
  readonly receives: boolean
}

/** The records of a domain, those that sending needs first. */
export function recordsOf({ domain, selector, publicKey, receives }: RecordsOf, settings: Settings): ExpectedRecord[] {
  return [
    { kind: "dkim", name: `${selector}._domainkey.${domain}`, type: "TXT", value: `v=DKIM1; k=rsa; p=${publicKey}` },
    { kind: "spf", name: domain, type: "TXT", value: `v=spf1 include:${settings.spf_host} ~all` },
    { kind: "return_path", name: returnPathOf(domain), type: "CNAME", value: settings.return_path_host },
    { kind: "dmarc", name: `_dmarc.${domain}`, type: "TXT", value: "v=DMARC1; p=none" },
    ...(receives ? [{ kind: "mx", name: domain, type: "MX", value: `10 ${settings.receiving_host}` } as const] : []),
  ]
}

/** The domain of the envelope's sender, which bounces go to. */
export function returnPathOf(domain: string): string {
  return `bounce.${domain}`
}
