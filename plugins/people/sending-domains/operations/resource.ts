// A sending domain as answers show it (specification 2.9), and the fields that inputs share.
import { z } from "zod"
import { isMailAddress } from "../../email/index.ts"
import { type StoredDomain, statuses } from "../collections.ts"
import { asciiOf } from "../domain-name.ts"
import { pointsNowhere } from "../settings.ts"

/** Fields that people may change. */
export const identityFields = {
  forward_to_email: z
    .string()
    .trim()
    .max(320)
    .refine((text) => text === "" || isMailAddress(text), "expected a mail address, such as ada@example.com, or nothing")
    .describe("Mailbox where replies are also delivered; empty: replies are stored in the service only."),
  from_local_part: z
    .string()
    .trim()
    .max(64)
    .refine((text) => /^[a-z0-9]+(?:[._+-][a-z0-9]+)*$/i.test(text), "expected what stands before the @, such as hello")
    .describe("What stands before the @ of the sender's address."),
  from_name: z
    .string()
    .trim()
    .max(200)
    .refine((text) => !/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u.test(text), "expected a name without line breaks or control characters")
    .refine(
      (text) => !/[^\s@]@[^\s@]+\.[^\s@]/.test(text),
      "expected a name without a mail address, which readers would take for the sender's",
    )
    .describe("Sender's name; empty: the address shows alone."),
}

export const DomainField = z.string().trim().min(1).max(253).describe("The domain; an international name in either form.")

/** Names a registered domain. Case and the form of an international name do not matter. */
export const RegisteredDomainField = DomainField.overwrite((text) => asciiOf(text) || text)

export const SendingDomain = z
  .object({
    domain: z.string().describe("Lower case, punycode; an apex or a subdomain."),
    status: z
      .enum(statuses)
      .describe(
        "`pending`: the records are to be created; `active`: verified, mail leaves from it; `failed`: see `error_reason`; `disabled`.",
      ),
    error_reason: z.string().describe("Why verification failed; empty otherwise."),
    dns_records: z
      .array(z.object({ name: z.string(), type: z.string(), value: z.string() }))
      .describe("The records to create; kept after verification. An MX value is priority and host."),
    from_email: z.string().describe("When `active`: the sender's address. Empty otherwise."),
    from_local_part: z.string(),
    from_name: z.string(),
    forward_to_email: z.string(),
    receiving_enabled: z.boolean().describe("Inbound mail is accepted; needs the MX record among `dns_records`."),
    registered_receiving: z.boolean().describe("Receiving was requested at registration; fixed."),
    existing_mx_detected: z
      .boolean()
      .describe("The domain had mail records of a mailbox provider when it was registered: it cannot receive here, a subdomain can."),
    warnings: z.array(z.string()).describe("What keeps the domain from being verified beside its own records."),
    last_checked_at: z.string().describe("RFC 3339; empty if never checked."),
    created_at: z.string(),
    updated_at: z.string(),
  })
  .meta({ id: "SendingDomain" })

const unsetWarning =
  "The records point to hosts that are not in DNS, as the service ships, so mail servers of the world never verify this domain. The operator sets spf_host, return_path_host and receiving_host in plugins.settings.sending-domains; then delete the domain and register it again."

export function shown(stored: StoredDomain): z.input<typeof SendingDomain> {
  const { domain, status, from_local_part } = stored
  return {
    domain,
    status,
    error_reason: stored.error_reason,
    dns_records: stored.records.map(({ name, type, value }) => ({ name, type, value })),
    from_email: status === "active" ? `${from_local_part}@${domain}` : "",
    from_local_part,
    from_name: stored.from_name,
    forward_to_email: stored.forward_to_email,
    receiving_enabled: stored.receiving_enabled,
    registered_receiving: stored.registered_receiving,
    existing_mx_detected: stored.existing_mx_detected,
    warnings: stored.records.some(({ value }) => pointsNowhere(value)) ? [unsetWarning] : [],
    last_checked_at: stored.last_checked_at ?? "",
    created_at: stored.created_at,
    updated_at: stored.updated_at,
  }
}
