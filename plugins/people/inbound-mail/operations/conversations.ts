// Operations to list and read conversations by mail.
import { z } from "zod"
import { AppError, defineList, defineOperation, Pager, pageInput, resultOf, Store, Timestamp, Uuid } from "#core"
import { ConversationCollection, MessageCollection, type StoredConversation, type StoredMessage } from "../conversations/collections.ts"
import { normalAddress } from "../conversations/conversations.ts"

const path = "/v1/email-conversations"
const access = { scope: "email_conversations:read", role: "member" } as const
const hints = { readOnly: true, destructive: false, idempotent: true }

const Conversation = z
  .object({
    id: Uuid,
    address: z.string().describe("The other side, in lower case and punycode."),
    name: z.string().describe("As the other side calls itself; empty if it does not."),
    subject: z.string().describe("Of the first message."),
    domain: z.string().describe("The domain that the last message went to or came from."),
    message_count: z.int(),
    answered: z.boolean().describe("Whether the other side has written."),
    last_message_at: Timestamp,
    last_direction: z.enum(["inbound", "outbound"]),
    last_preview: z.string(),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: "EmailConversation" })

const Address = z.object({ name: z.string(), address: z.string() })

const Message = z
  .object({
    id: Uuid,
    direction: z.enum(["inbound", "outbound"]),
    message_id: z.string().describe("Of the header, with angle brackets; empty if it has none."),
    from: Address,
    to: z.array(Address),
    cc: z.array(Address),
    subject: z.string(),
    text: z.string().describe("Plain text, made of HTML where it came without; at most 262,144 characters."),
    attachments: z.array(z.object({ filename: z.string(), media_type: z.string(), size: z.int().describe("Bytes."), inline: z.boolean() })),
    at: Timestamp.describe("When it was received, or sent."),
    dated: Timestamp.nullable().describe("When its author says that it was written."),
    inbound: z
      .object({
        domain: z.string().describe("The domain that received it."),
        authentication: z
          .object({
            spf: z.string(),
            dkim: z.string(),
            dmarc: z.string().describe("`pass`: it is from the domain of `from`."),
            policy: z.string().describe("What the author's domain asks for where DMARC fails; empty without a policy."),
            signed_by: z.array(z.string()).describe("Domains whose DKIM signatures pass."),
            header: z.string().describe("Value of `Authentication-Results`."),
          })
          .describe("Results of SPF, DKIM and DMARC, as RFC 8601 names them."),
        quarantined: z.boolean().describe("Its author's domain disowns it: it is kept, and neither forwarded nor given to pipelines."),
        automatic: z.boolean().describe("Written by a program, such as a vacation responder or a list."),
        problem: z
          .string()
          .describe(
            "`too_complex`, `malformed`: only the headers were read. `undecodable`: bytes have no meaning in the charset of a text, and U+FFFD stands for them. Empty otherwise.",
          ),
        forward: z
          .object({
            state: z.enum(["queued", "sent", "suppressed", "failed", "skipped"]),
            to: z.string(),
            reason: z
              .string()
              .describe(
                "Why it was skipped: `loop`, `quarantined`, `automatic`, `author` (who wrote it is whom to forward it to), `received_here` or `too_many`; or failed. Empty otherwise.",
              ),
          })
          .nullable()
          .describe("What became of forwarding it; null if the domain names no mailbox."),
      })
      .nullable()
      .describe("Only of inbound messages."),
  })
  .meta({ id: "EmailMessage" })

function shownConversation({
  organization_id: _organization,
  revision: _revision,
  ...rest
}: StoredConversation): z.input<typeof Conversation> {
  return rest
}

function shownMessage({ organization_id: _organization, conversation_id: _conversation, ...rest }: StoredMessage): z.input<typeof Message> {
  return rest
}

/** Setup of an example: a sent mail creates a conversation. */
export const written = {
  pipeline: {
    operation: "event_pipelines.create",
    input: {
      name: "Thank by mail",
      state: "active",
      pipeline: [{ type: "email.send", await: true, to: "{{ event.email }}", heading: "Thank you" }],
    },
  },
  event: { operation: "event_pipelines.send_event", input: { slug: resultOf("pipeline.slug"), payload: { email: "ada@example.com" } } },
  listed: { operation: "email_conversations.list", input: { address: "ada@example.com" } },
}

export const listConversations = defineList({
  name: "email_conversations.list",
  summary: "List conversations by mail, those with the latest message first.",
  description: "One for each address that mail was sent to alone, or that wrote to a domain that receives.",
  path,
  access,
  columns: ["address", "subject", "last_direction", "last_message_at", "message_count", "id"],
  input: {
    address: z.string().trim().max(320).default("").describe("Only that of this address."),
    domain: z.string().trim().toLowerCase().max(253).default("").describe("Only those whose last message used this domain."),
    answered: z.stringbool().or(z.boolean()).optional().describe("Only those in which the other side has written, or has not."),
  },
  collection: ConversationCollection,
  where: ({ address, ...asked }) => ({ ...(address && { address: normalAddress(address) }), ...asked }),
  sort: { last_message_at: -1 },
  items: { conversations: Conversation },
  view: shownConversation,
})

export const getConversation = defineOperation({
  name: "email_conversations.get",
  summary: "Read a conversation by mail with its messages, newest first.",
  http: { method: "GET", path: `${path}/{id}` },
  access,
  hints,
  input: z.strictObject({ id: Uuid, ...pageInput }),
  output: z.object({ conversation: Conversation, messages: z.array(Message), next_cursor: z.string() }),
  errors: ["invalid_argument", "not_found"],
  examples: [{ given: written, input: { id: resultOf("listed.conversations.0.id") } }],
  inject: { store: Store, pager: Pager },
  async handle({ input: { id, ...request }, caller, deps }) {
    const organization = caller.organization.id
    const conversation = await deps.store.open(ConversationCollection, organization).get(id)
    if (!conversation)
      throw new AppError("not_found", `The conversation ${id} does not exist; GET ${path} lists the conversations.`, {
        reason: "email_conversation_not_found",
      })
    const page = await deps.pager.page({
      collection: deps.store.open(MessageCollection, organization),
      organization,
      cursorScope: `email_conversations.get ${id}`,
      filter: { conversation_id: id },
      sort: { at: -1 },
      request,
    })
    return { conversation: shownConversation(conversation), messages: page.items.map(shownMessage), next_cursor: page.next_cursor }
  },
})
