// What is done with mail once it is on disk, so that a crash after the 250 loses none.
import { z } from "zod"
import { defineJob, Store } from "#core"
import { Buckets } from "../buckets/index.ts"
import { MailAuthors } from "./authors.ts"
import { InboundMailCollection } from "./collections.ts"
import { ConversationsToken } from "./conversations/conversations.ts"
import { FeedingToken } from "./feeding/feed.ts"
import { ForwardingToken } from "./forwarding/forward.ts"
import { MailHandlers, type ReceivedMail } from "./handlers.ts"
import { MailParserToken, maxThreads } from "./parse/mail-parser.ts"
import { receive } from "./receive.ts"

export const processRef = { type: "inbound_mail.process", payload: z.object({ organization: z.string(), mail_id: z.string() }) }
export const purgeRef = { type: "inbound_mail.purge", payload: z.object({ organization: z.string(), raw_key: z.string() }) }

export const processJob = defineJob({
  ...processRef,
  summary: "Gives received mail to the handler that claims it.",
  slots: maxThreads,
  timeoutMs: 120_000,
  inject: {
    store: Store,
    buckets: Buckets,
    handlers: MailHandlers,
    parser: MailParserToken,
    conversations: ConversationsToken,
    forwarding: ForwardingToken,
    feeding: FeedingToken,
    authors: MailAuthors,
  },
  async run({ payload: { organization, mail_id }, deps: { store, buckets, handlers, parser, ...services }, work, log }) {
    const stored = await store.open(InboundMailCollection, organization).get(mail_id)
    if (!stored || stored.handled_by !== null) return
    const object = await buckets.open(organization).get(stored.raw_key)
    if (!object) throw new Error(`The message ${stored.raw_key} is not in the bucket.`)
    const chunks: Uint8Array[] = []
    for await (const chunk of object.chunks) chunks.push(chunk)
    const raw = Buffer.concat(chunks)
    const { envelope, domain, kind } = stored
    const parsed = await parser.parse(raw, { ip: envelope.remote_address, helo: envelope.helo, sender: envelope.from })
    const mail: ReceivedMail = {
      id: mail_id,
      route: { organization, domain, kind },
      envelope,
      received_at: stored.received_at,
      ...parsed,
      raw: async () => raw,
    }
    const handler = handlers.claiming(mail)
    if (handler) await handler.handle(mail, work)
    else if (kind === "mail") await receive(services, mail, work)
    const handled_by = handler?.name ?? (kind === "mail" ? "conversations" : "nobody")
    log.info({ mail: mail_id, handled_by }, "handled received mail")
    work.in(InboundMailCollection, organization).update(mail_id, { $set: { handled_by } }, { where: { handled_by: null } })
  },
})

export const purgeJob = defineJob({
  ...purgeRef,
  summary: "Removes a received message as it came.",
  inject: { buckets: Buckets },
  run: ({ payload: { organization, raw_key }, deps: { buckets } }) => buckets.open(organization).remove(raw_key),
})
