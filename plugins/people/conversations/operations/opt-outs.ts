// Operations to read the opt-out ledgers with their evidence, and to record opt-outs from elsewhere. An opt-in requires a message
// from the person, so no operation records an opt-in.
import { z } from "zod"
import { Clock, defineOperation, Pager, pageInput, Store, Timestamp, timestamp, Uuid } from "#core"
import { channels, collections } from "../channels.ts"
import { type OptOutEntry, OptOuts, optOutSources } from "../opt-out/ledger.ts"
import { OptOutLinks } from "../opt-out/link.ts"
import { NumberFilter, PersonAddress, writtenAs } from "../phone.ts"

const path = "/v1/voice/opt-outs"
const Channel = z.enum(channels).describe("Each channel has a ledger of its own.")

const Entry = z
  .object({
    id: Uuid,
    address: z.string(),
    kind: z.enum(["opt_out", "opt_in"]),
    at: Timestamp.describe("When it was said. The newest entry of a person holds."),
    source: z
      .enum(optOutSources)
      .describe("`keyword`: by a message; `provider`: by a choice that the provider told of; `link`: by the link in a message."),
    message_id: Uuid.nullable(),
    wording: z.string().describe("What the person, the provider or the caller said."),
    recorded_by: z.string().nullable().describe("The credential that recorded it."),
    recorded_at: Timestamp,
  })
  .meta({ id: "OptOutEntry" })

function shown({ organization_id: _organization, ...entry }: OptOutEntry): z.input<typeof Entry> {
  return entry
}

export const listOptOuts = defineOperation({
  name: "opt_outs.list",
  summary: "List a channel's opt-outs and opt-ins with their evidence, newest first.",
  http: { method: "GET", path },
  access: { scope: "conversations:read", role: "member" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  columns: ["address", "kind", "source", "wording", "at"],
  input: z.strictObject({ channel: Channel, address: NumberFilter.describe("The person's number."), ...pageInput }),
  output: z.object({ opt_outs: z.array(Entry), next_cursor: z.string() }),
  errors: ["invalid_argument"],
  examples: [{ input: { channel: "chat_app" } }],
  inject: { store: Store, pager: Pager },
  async handle({ input: { channel, address, ...request }, caller, deps }) {
    const organization = caller.organization.id
    const page = await deps.pager.page({
      collection: deps.store.open(collections[channel].ledger, organization),
      organization,
      cursorScope: `opt_outs.list ${channel} ${address}`,
      filter: address === "" ? {} : { address: writtenAs([address]) },
      sort: { at: -1 },
      request,
    })
    return { opt_outs: page.items.map(shown), next_cursor: page.next_cursor }
  },
})

export const recordOptOut = defineOperation({
  name: "opt_outs.record",
  summary: "Record that a person does not want to be written to on a channel.",
  description: "For what was said elsewhere, such as on the telephone. Only the person can opt in again, by a message such as START.",
  http: { method: "POST", path },
  access: { scope: "conversations:write", role: "member" },
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: z.strictObject({
    channel: Channel,
    address: PersonAddress.describe("The person's number. In the chat app also a user ID, of a person without one."),
    wording: z.string().trim().min(1).max(2_000).describe("What the person said, and where."),
  }),
  output: Entry,
  errors: ["invalid_argument"],
  examples: [{ input: { channel: "sms", address: "+493098765432", wording: "Asked on the telephone not to be written to." } }],
  inject: { optOuts: OptOuts, clock: Clock },
  handle({ input: { channel, address, wording }, caller, deps, work, callId }) {
    const evidence = { source: "operation", message_id: null, wording, recorded_by: caller.credential.id } as const
    const entry = { address, kind: "opt_out", at: timestamp(deps.clock.now()), identity: callId, ...evidence } as const
    return shown(deps.optOuts.stage(work, caller.organization.id, channel, entry))
  },
})

export const linkToOptOut = defineOperation({
  name: "opt_outs.link",
  summary: "Make the link by which a person opts out of a channel, for a mail or a page.",
  description:
    "The person who opens it is asked, and opted out by the button. It does not expire. Messages have it by `{{ opt_out_url }}` in their text.",
  http: { method: "GET", path: "/v1/voice/opt-out-link" },
  access: { scope: "conversations:read", role: "member" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({
    channel: Channel,
    address: PersonAddress.describe("The person's number. In the chat app also a user ID, of a person without one."),
  }),
  output: z.object({ url: z.url() }),
  errors: ["invalid_argument"],
  examples: [{ input: { channel: "sms", address: "+493098765432" } }],
  inject: { links: OptOutLinks },
  handle: async ({ input, caller, deps }) => ({
    url: await deps.links.url({ ...input, organization: caller.organization.id, messageId: null }),
  }),
})
