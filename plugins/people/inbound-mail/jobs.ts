// Jobs for stored mail. The mail is on disk before the 250, so a crash loses no mail.
import { z } from "zod"
import { Clock, defineJob, jobRef, Store, type UnitOfWork, UnitsOfWork } from "#core"
import { Buckets } from "../../data/buckets/index.ts"
import { InboundMailCollection, type StoredMail } from "./collections.ts"
import { Conversations } from "./conversations/conversations.ts"
import { isAuthenticated, standingOf } from "./deliveries.ts"
import { FeedingToken } from "./feeding/feed.ts"
import { Forwarding } from "./forwarding/forward.ts"
import { MailAuthors, type MailHandler, MailHandlers, type ReceivedMail } from "./handlers.ts"
import { MailParserToken, maxThreads } from "./parse/mail-parser.ts"
import { receiveAgain, receiving } from "./receive.ts"

export const processRef = jobRef("inbound_mail.process", z.object({ organization: z.string(), mail_id: z.string() }), {
  timeoutMs: 120_000,
})
export const purgeRef = jobRef("inbound_mail.purge", z.object({ organization: z.string(), raw_key: z.string() }))

export const processJob = defineJob(processRef, {
  summary: "Gives received mail to the handler that claims it.",
  slots: maxThreads,
  inject: {
    store: Store,
    clock: Clock,
    works: UnitsOfWork,
    buckets: Buckets,
    handlers: MailHandlers,
    parser: MailParserToken,
    conversations: Conversations,
    forwarding: Forwarding,
    feeding: FeedingToken,
    authors: MailAuthors,
  },
  async run({ payload: { organization, mail_id }, deps: { store, clock, works, buckets, handlers, parser, ...services }, log }) {
    const stored = await store.open(InboundMailCollection, organization).get(mail_id)
    if (!stored || stored.handled_by !== null) return
    const object = await buckets.open(organization).get(stored.raw_key)
    if (!object) throw new Error(`The message ${stored.raw_key} is not in the bucket.`)
    const chunks: Uint8Array[] = []
    for await (const chunk of object.chunks) chunks.push(chunk)
    const raw = Buffer.concat(chunks)
    const { domain, kind } = stored
    const { remote_address: ip, helo, from: sender } = stored.envelope
    const parsed = await parser.parse(raw, { ip, helo, sender })
    const authenticated = isAuthenticated(parsed.authentication)
    const { recipients, same } = await standingOf(store, organization, { ...stored, authenticated }, clock.now())
    const envelope = { ...stored.envelope, recipients: [...recipients] }
    const mail: ReceivedMail = {
      id: mail_id,
      route: { organization, domain, kind },
      envelope,
      received_at: stored.received_at,
      ...parsed,
      raw: async () => raw,
    }
    const { handled_by, stage }: Handling =
      recipients.length === 0 ? { handled_by: "duplicate", stage: () => undefined } : await handle({ handlers, ...services }, mail, same)
    const change = { handled_by, authenticated, event_recipients: [...recipients], ...(same && { same_as: same.id }) }
    await works.retryConflicts(async (work) => {
      // An erasure, or another node after a lost lease, may come first.
      if ((await store.open(InboundMailCollection, organization).get(mail_id))?.handled_by !== null) return
      await stage(work)
      work.in(InboundMailCollection, organization).update(mail_id, { $set: change }, { where: { handled_by: null } })
    })
    log.info({ mail: mail_id, handled_by }, "handled received mail")
  },
})

type HandleServices = Parameters<typeof receiving>[0] & { readonly handlers: readonly MailHandler[] }

interface Handling {
  readonly handled_by: string
  /** May repeat after a conflict. */
  readonly stage: (work: UnitOfWork) => Promise<void> | void
}

async function handle({ handlers, ...services }: HandleServices, mail: ReceivedMail, same: StoredMail | undefined): Promise<Handling> {
  const handler = handlers.find((one) => one.claims(mail))
  if (handler) return { handled_by: handler.name, stage: (work) => handler.handle(mail, work) }
  if (mail.route.kind !== "mail") return { handled_by: "nobody", stage: () => undefined }
  const stage = same ? (work: UnitOfWork) => receiveAgain(services, mail, work) : await receiving(services, mail)
  return { handled_by: "conversations", stage }
}

export const purgeJob = defineJob(purgeRef, {
  summary: "Removes a received message as it came.",
  inject: { buckets: Buckets },
  run: ({ payload: { organization, raw_key }, deps: { buckets } }) => buckets.open(organization).remove(raw_key),
})
