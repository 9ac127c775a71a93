// A sending domain: its fields, and the operations that register, list, read, change and delete it.
import { z } from "zod"
import { AppError, defineResource, type ItemOf, jobRef, namedKey, Scheduler, type Sealed, type UnitOfWork } from "#core"
import { isMailAddress } from "../email/index.ts"
import type { RecordCheck } from "./checks/record-check.ts"
import { domainId, sealContext, stageRoute, statuses } from "./collections.ts"
import { nameOf } from "./domain-name.ts"
import { type ExpectedRecord, Registrations } from "./registrations.ts"
import { pointsNowhere } from "./settings.ts"

/** Fields that users may change. */
const fields = {
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
    .refine((text) => /^[a-z0-9]+(?:[._+-][a-z0-9]+)*$/i.test(text), "expected the part before the @, such as hello")
    .describe("The part before the @ of the sender's address."),
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
  receiving_enabled: z
    .boolean()
    .describe("Inbound mail is accepted. It needs `registered_receiving` and the MX record among `dns_records`."),
}

/** Fields of the service. */
interface Hidden {
  /** The registrable domain. */
  apex: string
  selector: string
  private_key: Sealed
  records: ExpectedRecord[]
  last_checked_at: string | null
  /** The last complete check. Always set for an active domain. */
  evidence: { at: string; records: RecordCheck[] } | null
  /** Problems of the last checks, their number in a row, and the time of the last count. */
  strikes: { what: string; count: number; at: string } | null
  dns_records?: never
  from_email?: never
  warnings?: never
}

const unsetWarning =
  "The records point to hosts of the default configuration. DNS has no records of these hosts, so mail servers cannot verify this domain. The operator sets spf_host, return_path_host and receiving_host in plugins.settings.sending-domains. Then delete the domain and register it again."

const Domain = z.string().trim().min(1).max(253).overwrite(nameOf).describe("The domain; an international name in either form.")

export const SendingDomainResource = defineResource<Hidden>()({
  name: "sending_domain",
  plural: "sending_domains",
  title: "SendingDomain",
  path: "/v1/sending-domains",
  collection: {
    name: "sending_domains",
    times: ["last_checked_at", "evidence.at", "strikes.at"],
    indexes: [{ fields: ["-created_at"] }, { fields: ["status", "created_at"] }],
    sealed: ({ id, private_key }: { id: string; private_key: Sealed }) => [
      { path: "private_key", sealed: private_key, context: sealContext(id) },
    ],
  },
  access: { read: { scope: "sending_domains:read", role: "guest" }, write: { scope: "sending_domains:write", role: "admin" } },
  key: namedKey(
    "domain",
    Domain,
    { idOf: domainId, taken: registeredAlready },
    { receiving: z.boolean().default(false).describe("Receive mail as well; fixed for the registration's life.") },
  ),
  fields,
  later: ["receiving_enabled"],
  defaults: { from_local_part: "hello", from_name: "", forward_to_email: "", receiving_enabled: false },
  shown: {
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
    registered_receiving: z.boolean().describe("Receiving was requested at registration; fixed."),
    existing_mx_detected: z
      .boolean()
      .describe("The domain had mail records of a mailbox provider when it was registered: it cannot receive here, a subdomain can."),
    warnings: z.array(z.string()).describe("Problems beside the domain's own records that prevent a verification."),
    last_checked_at: z.string().describe("RFC 3339; empty if never checked."),
  },
  hidden: ["apex", "selector", "private_key", "records", "evidence", "strikes"],
  unstored: ["dns_records", "from_email", "warnings"],
  present: ({ domain, status, from_local_part, records, last_checked_at }) => ({
    dns_records: records.map(({ name, type, value }) => ({ name, type, value })),
    from_email: status === "active" ? `${from_local_part}@${domain}` : "",
    warnings: records.some(({ value }) => pointsNowhere(value)) ? [unsetWarning] : [],
    last_checked_at: last_checked_at ?? "",
  }),
  list: { sort: { created_at: -1 } },
  columns: ["domain", "status", "from_email", "error_reason", "last_checked_at"],
  examples: [{ input: { domain: "example.com", from_local_part: "hello", from_name: "Ada at Example" } }],
  change: { from_local_part: "team", from_name: "The team" },
  verbs: {
    create: {
      name: "sending_domains.register",
      summary: "Register a domain to send from.",
      description:
        "Makes a DKIM key and answers the DNS records to create. Mail leaves from the domain once DNS shows them. `receiving` asks for replies to be received as well, and is fixed.",
      hints: { openWorld: true },
      errors: ["unavailable"],
    },
    update: {
      description: "Takes back the answer of a read.",
      errors: ["failed_precondition"],
      mcp: { listed: true },
      isRepeated: true,
    },
    delete: {
      summary: "Delete a sending domain, with its DKIM key.",
      description:
        "Mail leaves from the default sender again. Registered again, the domain has another key and other records. The trash keeps the sealed key for 30 days.",
    },
  },
  inject: { registrations: Registrations, scheduler: Scheduler },
  check(domain, { before, change }) {
    if (before && change.receiving_enabled) requireReceiving({ ...before, ...domain })
  },
  start: ({ id, domain, receiving }, { deps }) => deps.registrations.start(id, domain, receiving),
  restored: ({ status }) => ({
    ...{ status: status === "disabled" ? ("disabled" as const) : ("pending" as const) },
    ...{ error_reason: "", evidence: null, strikes: null },
  }),
  created(domain, { work, organization, deps }) {
    if (domain.status !== "disabled") scheduleChecks(deps.scheduler, work, organization, domain)
  },
  updated(domain, _before, { work, organization }) {
    stageRoute(work, organization, domain)
  },
  deleted(domain, { work, organization, deps }) {
    stageRoute(work, organization, { ...domain, status: "disabled" })
    endChecks(deps.scheduler, work, domain)
  },
  gone: { fields: { domain: z.string() }, read: ({ domain }) => ({ domain }) },
})

export type StoredDomain = ItemOf<typeof SendingDomainResource>

function registeredAlready(domain: string): Error {
  return new AppError("already_exists", `The organization has registered ${domain} already.`, { reason: "sending_domain_registered" })
}

function requireReceiving(registered: { domain: string; registered_receiving: boolean; existing_mx_detected: boolean }): void {
  const { domain, registered_receiving, existing_mx_detected } = registered
  if (!registered_receiving)
    throw new AppError(
      "failed_precondition",
      `${domain} was registered without receiving, which is fixed; delete it and register it, or a subdomain, with receiving.`,
      { reason: "receiving_not_registered" },
    )
  if (existing_mx_detected)
    throw new AppError(
      "failed_precondition",
      `${domain} had mail records of a mailbox provider when it was registered; register a subdomain with receiving.`,
      { reason: "receiving_conflict" },
    )
}

/** Each registered domain is checked hourly, at a minute of its own. */
export const checkRef = jobRef("sending_domains.check", z.object({ organization: z.string(), domain: z.string() }))

export function scheduleChecks(scheduler: Scheduler, work: UnitOfWork, organization: string, { id, domain }: StoredDomain): void {
  const minute = Number.parseInt(id.slice(0, 4), 16) % 60
  scheduler.set(work, { id, job: checkRef, payload: { organization, domain }, organization, cron: `${minute} * * * *` })
}

export function endChecks(scheduler: Scheduler, work: UnitOfWork, { id }: StoredDomain): void {
  scheduler.remove(work, checkRef, id)
}
