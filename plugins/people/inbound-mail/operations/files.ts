// Lists the files of a received message, each with a temporary download link.
import { z } from "zod"
import { AppError, Clock, defineOperation, PublicUrl, resultOf, Store, Timestamp, timestamp, Uuid, Vault } from "#core"
import { InboundMailCollection } from "../collections.ts"
import { MessageCollection } from "../conversations/collections.ts"
import { linkTo, MailFilesToken, macPurpose } from "../files/files.ts"
import { written } from "./conversations.ts"

const linkS = 900

const File = z.object({
  kind: z.enum(["message", "attachment"]).describe("`message`: as it came, with its headers."),
  filename: z.string().describe("As its author named it; empty if nobody did."),
  media_type: z.string().describe("As its author says; the link answers attachments as application/octet-stream."),
  size: z.int().describe("Bytes; of the message as it was received, without the header that the service put before it."),
  url: z.string().describe("Downloads the file without a credential until `expires_at`."),
  expires_at: Timestamp,
})

export const listFiles = defineOperation({
  name: "email_conversations.list_files",
  summary: "List the files of a message by mail, with links that download them.",
  description:
    "The message as it came and its attachments, for 15 minutes each time. Strangers wrote them. Messages that were sent have none, nor have those that were received longer ago than keep_raw_days.",
  http: { method: "GET", path: "/v1/email-conversations/{id}/messages/{message}/files" },
  access: { scope: "email_conversations:read", role: "member" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  columns: ["kind", "filename", "media_type", "size", "url"],
  input: z.strictObject({ id: Uuid, message: Uuid.describe("`id` of the message.") }),
  output: z.object({ files: z.array(File) }),
  errors: ["not_found"],
  examples: [
    {
      given: { ...written, read: { operation: "email_conversations.get", input: { id: resultOf("listed.conversations.0.id") } } },
      input: { id: resultOf("read.conversation.id"), message: resultOf("read.messages.0.id") },
    },
  ],
  inject: { store: Store, clock: Clock, vault: Vault, publicUrl: PublicUrl, files: MailFilesToken },
  async handle({ input, caller, deps: { store, clock, vault, publicUrl, files } }) {
    const organization = caller.organization.id
    const message = await store.open(MessageCollection, organization).get(input.message)
    if (!message || message.conversation_id !== input.id) {
      const text = `The conversation ${input.id} has no message ${input.message}; GET /v1/email-conversations/${input.id} lists them.`
      throw new AppError("not_found", text, { reason: "email_message_not_found" })
    }
    const mail = await store.open(InboundMailCollection, organization).get(message.id)
    if (!mail || files.keptUntil(mail) <= clock.now()) return { files: [] }
    const expires = Math.ceil(clock.now() / 1_000) + linkS
    const linked = (part: string) => ({
      url: publicUrl() + linkTo(vault.keyFor(macPurpose), { organization, mail: mail.id, part }, expires),
      expires_at: timestamp(expires * 1_000),
    })
    const attachments = message.attachments.map(({ filename, media_type, size }, index) => ({
      ...{ kind: "attachment" as const, filename, media_type, size },
      ...linked(String(index)),
    }))
    const whole = { kind: "message" as const, filename: "message.eml", media_type: "message/rfc822", size: mail.size, ...linked("message") }
    return { files: [whole, ...attachments] }
  },
})
