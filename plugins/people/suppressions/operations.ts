// Operations to read and change the suppression list.
import { z } from "zod"
import { defineList, defineOperation, resultOf, Timestamp, Uuid } from "#core"
import { isMailAddress } from "../email/index.ts"
import { type StoredSuppression, SuppressionCollection, suppressionReasons, suppressionSources } from "./collections.ts"
import { Suppressions } from "./suppressions.ts"

const path = "/v1/suppressions"
const reading = { scope: "suppressions:read", role: "member" } as const

const Address = z
  .string()
  .trim()
  .max(320)
  .refine(isMailAddress, "expected a mail address, such as ada@example.com")
  .describe("Mail address; upper and lower case are the same, and so are both forms of an international domain.")

const Suppression = z
  .object({
    id: Uuid,
    address: z.string().describe("In lower case, the domain in punycode."),
    reason: z
      .enum(suppressionReasons)
      .describe(
        "`hard_bounce`: the address does not take mail; `complaint`: its owner called a message spam; `unsubscribe`: from marketing; `manual`: a person entered it.",
      ),
    source: z
      .enum(suppressionSources)
      .describe(
        "`smtp`: the mail server refused the address; `bounce`: a delivery status notification (RFC 3464); `feedback_report`: a complaint of a mailbox provider (RFC 5965); `link`: the unsubscribe link of a message; `operation`: a call of this API.",
      ),
    evidence: z.object({
      message_id: z.string().nullable().describe("Message-ID of the message that it followed from."),
      smtp_status: z.string().nullable().describe("Enhanced status code (RFC 3463)."),
      report: z.string().describe("What was said; at most 2,000 characters."),
      credential_id: z.string().nullable().describe("The credential that entered it."),
    }),
    created_at: Timestamp,
  })
  .meta({ id: "Suppression" })

function shown({ id, address, reason, source, evidence, created_at }: StoredSuppression): z.input<typeof Suppression> {
  return { id, address, reason, source, evidence, created_at }
}

const added = (address: string) => ({ entry: { operation: "suppressions.add", input: { address, note: "Asked for it by telephone." } } })
const thatEntry = { id: resultOf("entry.id") }

export const addSuppression = defineOperation({
  name: "suppressions.add",
  summary: "Enter an address into the suppression list.",
  description: "Mail to it is held back from now on, mail that waits to be sent included. An address that has the entry keeps it.",
  http: { method: "POST", path },
  access: { scope: "suppressions:write", role: "member" },
  hints: { readOnly: false, destructive: false, idempotent: true },
  input: z.strictObject({
    address: Address,
    reason: z
      .enum(["manual", "unsubscribe"])
      .default("manual")
      .describe(
        "`manual`: neither marketing nor transactional mail; `unsubscribe`: no marketing. The others need a mail server's evidence.",
      ),
    note: z.string().trim().max(2_000).default("").describe("Why; kept as the entry's evidence."),
  }),
  output: Suppression,
  errors: ["invalid_argument"],
  examples: [{ input: { address: "ada@example.com", note: "Asked for it by telephone." } }],
  inject: { suppressions: Suppressions },
  async handle({ input: { address, reason, note }, caller, deps, work }) {
    const evidence = { report: note, credential_id: caller.credential.id }
    return shown(await deps.suppressions.add(work, caller.organization.id, { address, reason, source: "operation", evidence }))
  },
})

export const listSuppressions = defineList({
  name: "suppressions.list",
  summary: "List the addresses that mail is held back from, newest first.",
  path,
  access: reading,
  columns: ["address", "reason", "source", "created_at", "id"],
  input: {
    address: Address.optional(),
    reason: z.enum(suppressionReasons).optional(),
    source: z.enum(suppressionSources).optional(),
  },
  inject: { suppressions: Suppressions },
  collection: SuppressionCollection,
  where: async ({ address, ...asked }, { organization, deps }) => ({
    ...(address && { id: { $in: await deps.suppressions.idsOf(organization, address) } }),
    ...asked,
  }),
  // An address has only a few entries. They are found by id.
  sort: ({ address }) => (address === undefined ? { created_at: -1 } : { id: 1 }),
  items: { suppressions: Suppression },
  view: shown,
})

export const getSuppression = defineOperation({
  name: "suppressions.get",
  summary: "Read an entry of the suppression list, with its evidence.",
  http: { method: "GET", path: `${path}/{id}` },
  access: reading,
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({ id: Uuid }),
  output: Suppression,
  errors: ["not_found"],
  examples: [{ given: added("read@example.com"), input: thatEntry }],
  inject: { suppressions: Suppressions },
  handle: async ({ input, caller, deps }) => shown(await deps.suppressions.require(caller.organization.id, input.id)),
})

export const removeSuppression = defineOperation({
  name: "suppressions.remove",
  summary: "Remove an entry from the suppression list, so that its address is written to again.",
  description: "Other entries of the address stay. Who unsubscribed or complained is to be written to again only where they ask for it.",
  http: { method: "DELETE", path: `${path}/{id}` },
  access: { scope: "suppressions:write", role: "admin", closedToAgents: true },
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({ id: Uuid }),
  output: z.object({ id: Uuid, removed: z.literal(true) }),
  errors: ["not_found", "aborted"],
  examples: [{ given: added("remove@example.com"), input: thatEntry }],
  mcp: { absent: "An agent must not send mail again to people who refused it." },
  inject: { suppressions: Suppressions },
  async handle({ input, caller, deps, work }) {
    const organization = caller.organization.id
    const stored = await deps.suppressions.require(organization, input.id)
    deps.suppressions.remove(work, organization, stored)
    return { id: stored.id, removed: true as const }
  },
})
