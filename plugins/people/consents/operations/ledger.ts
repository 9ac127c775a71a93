// Operations to record and read consents, and to set the purposes with required consent.
import { z } from "zod"
import { AnyJson, defineList, defineOperation, Timestamp, Uuid } from "#core"
import type { Streamed } from "#core/engine"
import { Leads } from "../../leads/index.ts"
import { ConsentCollection, type ConsentEntry, entryKinds, entrySources, everyChannel, everyPurpose } from "../collections.ts"
import { Ledger } from "../ledger.ts"
import { channels, kindOf, personFields, personOf, unreadable } from "../person.ts"

/** Output schemas of the ledger, and shared input fields. */
export const Purpose = z
  .string()
  .trim()
  .min(1)
  .max(60)
  .regex(/^[a-z0-9]+(?:[_-][a-z0-9]+)*$/, "lower-case letters, digits, - and _, such as marketing")

const LedgerChannel = z.enum([everyChannel, ...channels]).describe("`all`: every one that the address or number has.")

const Consent = z
  .object({
    id: Uuid,
    address: z.string().describe("Mail address, or number in E.164."),
    kind: z.enum(entryKinds),
    channel: LedgerChannel,
    purpose: z.string().describe(`\`${everyPurpose}\`: every one.`),
    source: z.enum(entrySources),
    wording: z.string().describe("What the person was asked, or said."),
    evidence: z.record(z.string(), AnyJson),
    at: Timestamp.describe("When the person said it."),
    recorded_at: Timestamp,
    recorded_by: z.string().describe("The credential that recorded it."),
  })
  .meta({ id: "Consent" })

function shown(entry: ConsentEntry): z.input<typeof Consent> {
  const { id, address, kind, channel, purpose, source, wording, evidence, at, recorded_at, recorded_by } = entry
  return { id, address, kind: kind as never, channel: channel as never, purpose, source, wording, evidence, at, recorded_at, recorded_by }
}

const path = "/v1/consents"
const reading = { scope: "consents:read", role: "member" } as const
const maxEvidence = 10_000

export const recordConsent = defineOperation({
  name: "consents.record",
  summary: "Record that a person gave or withdrew consent.",
  description: "Entries are only added: the newest one about a channel and purpose holds.",
  auditSize: ["email", "phone", "wording", "evidence"],
  http: { method: "POST", path },
  access: { scope: "consents:write", role: "member" },
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: z.strictObject({
    ...personFields,
    kind: z.enum(entryKinds),
    channel: LedgerChannel.default(everyChannel),
    purpose: Purpose.default("marketing").describe("What for; `all`: every purpose."),
    source: z.enum(entrySources).default("operation").describe("By what it became known."),
    wording: z.string().max(4_000).default("").describe("What the person was asked, or said."),
    evidence: z
      .record(z.string(), AnyJson)
      .default({})
      .refine((evidence) => JSON.stringify(evidence).length <= maxEvidence, `at most ${maxEvidence} characters of JSON`)
      .describe("What proves it: an execution, a URL, a message."),
    at: Timestamp.optional().describe("When the person said it; now unless given."),
    after_erasure: z.boolean().default(false).describe("The person was erased, and consented since."),
  }),
  output: Consent,
  errors: ["invalid_argument", "failed_precondition"],
  examples: [
    {
      input: {
        email: "ada@example.com",
        kind: "given",
        channel: "email",
        source: "form",
        wording: "Yes, send me news by mail.",
        evidence: { page_url: "https://example.com/news" },
      },
    },
  ],
  inject: { ledger: Ledger, leads: Leads },
  async handle({ input: { email, phone, ...given }, caller, deps: { ledger, leads }, work }) {
    const organization = caller.organization.id
    const person = personOf({ email, phone }, await leads.region(organization))
    const channel = channels.find((one) => one === given.channel)
    if (channel && kindOf(channel) !== person.kind) throw unreadable("channel", `"${channel}" is not a channel of ${person.kind} addresses`)
    return shown(await ledger.record(work, organization, person, { ...given, recorded_by: caller.credential.id }))
  },
})

export const listConsents = defineList({
  name: "consents.list",
  summary: "List the consent ledger, newest first; that of one person by their address or number.",
  path,
  access: reading,
  columns: ["address", "kind", "channel", "purpose", "source", "at"],
  input: personFields,
  inject: { ledger: Ledger, leads: Leads },
  collection: ConsentCollection,
  async where({ email = "", phone = "" }, { organization, deps: { ledger, leads } }) {
    if (email === "" && phone === "") return {}
    return { digest: await ledger.digestOf(organization, personOf({ email, phone }, await leads.region(organization))) }
  },
  sort: ({ email, phone }) => (email === undefined && phone === undefined ? { recorded_at: -1 } : { at: -1 }),
  items: { consents: Consent },
  view: shown,
})

export const exportConsents = defineOperation({
  name: "consents.export",
  summary: "Export everything that the ledger holds of one person, as NDJSON, newest first, streamed.",
  http: { method: "GET", path: `${path}/export` },
  access: reading,
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject(personFields),
  output: z.custom<Streamed>(),
  errors: ["invalid_argument"],
  examples: [{ input: { email: "ada@example.com" } }],
  streams: ["application/x-ndjson"],
  mcp: { absent: "An export hands all consents to an agent at once and exceeds a tool result; consents_list reads page by page." },
  inject: { ledger: Ledger, leads: Leads },
  async handle({ input, caller, deps: { ledger, leads } }): Promise<Streamed> {
    const organization = caller.organization.id
    const digest = await ledger.digestOf(organization, personOf(input, await leads.region(organization)))
    return { contentType: "application/x-ndjson", fileName: "consents.ndjson", chunks: lines(ledger, organization, digest) }
  },
})

async function* lines(ledger: Ledger, organization: string, digest: string): AsyncIterable<string> {
  for await (const entry of ledger.entries(organization, digest)) yield `${JSON.stringify(shown(entry))}\n`
}

const Settings = z.object({
  required_purposes: z.array(Purpose).max(50).describe("Purposes for which nobody is written to without a consent."),
})

export const getConsentSettings = defineOperation({
  name: "consents.get_settings",
  summary: "Read for which purposes the organization requires consent.",
  http: { method: "GET", path: "/v1/consent-settings" },
  access: reading,
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({}),
  output: Settings,
  errors: [],
  inject: { ledger: Ledger },
  handle: async ({ caller, deps: { ledger } }) => ({ required_purposes: await ledger.requiredPurposes(caller.organization.id) }),
})

export const setConsentSettings = defineOperation({
  name: "consents.set_settings",
  summary: "Say for which purposes nobody is written to without a consent.",
  description: "Mail of category `marketing` and marketing templates have the purpose `marketing`; all else has `service`.",
  http: { method: "PUT", path: "/v1/consent-settings" },
  access: { scope: "consents:write", role: "admin" },
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({ required_purposes: Settings.shape.required_purposes }),
  output: Settings,
  errors: ["invalid_argument"],
  examples: [{ input: { required_purposes: ["marketing"] } }],
  inject: { ledger: Ledger },
  handle({ input, caller, deps: { ledger }, work }) {
    const required_purposes = [...new Set(input.required_purposes)].sort()
    ledger.setRequiredPurposes(work, caller.organization.id, required_purposes)
    return { required_purposes }
  },
})
