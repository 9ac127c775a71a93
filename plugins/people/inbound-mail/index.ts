// Incoming mail: an SMTP server for the receiving domains, and the handling of each message.
import { Clock, definePlugin, Ids, injected, JobQueue, Log, RateLimiter, Store, token, UnitsOfWork } from "#core"
import { Metrics, Pauses } from "#core/engine"
import { EventPipelines } from "../../capture/pipelines/index.ts"
import { Buckets } from "../../data/buckets/index.ts"
import { MailGuards } from "../email/index.ts"
import { DnsLookup, MailRoutes } from "../sending-domains/index.ts"
import { InboundMailCollection } from "./collections.ts"
import { ConversationCollection, MessageCollection } from "./conversations/collections.ts"
import { Conversations, conversationsChannel } from "./conversations/conversations.ts"
import { keepSentGuard, keepSentJob } from "./conversations/sent.ts"
import { MailErasure, mailErasure, mailErasureNeeds } from "./erasure.ts"
import { Feeding, FeedingToken, feedJob } from "./feeding/feed.ts"
import { MailFiles, MailFilesToken, readFile } from "./files/files.ts"
import { Forwarding, forwardJob } from "./forwarding/forward.ts"
import { MailAuthors, MailHandlers } from "./handlers.ts"
import { MailHistory, mailHistory } from "./history.ts"
import { processJob, purgeJob } from "./jobs.ts"
import { getConversation, listConversations } from "./operations/conversations.ts"
import { listFiles } from "./operations/files.ts"
import { MailParser, MailParserToken } from "./parse/mail-parser.ts"
import { reasons } from "./reasons.ts"
import { Settings } from "./settings.ts"
import { Acceptance } from "./smtp/acceptance.ts"
import { SmtpLimits } from "./smtp/limits.ts"
import { MailServer } from "./smtp/server.ts"

export { MailErasure } from "./erasure.ts"
export { type AuthorFollower, MailAuthors, type MailHandler, MailHandlers, type MailRecipient, type ReceivedMail } from "./handlers.ts"
export { MailHistory } from "./history.ts"
export { headersOf, type MailContent } from "./parse/content.ts"

/** The SMTP server. Tests read its port. */
export const InboundMailServer = token<MailServer>("InboundMailServer")

export default definePlugin({
  id: "inbound-mail",
  reasons,
  needs: ["buckets", "email", "event-pipelines", "sending-domains"],
  config: Settings,
  extensionPoints: [MailAuthors, MailHandlers],
  extend: [[MailGuards, injected({ queue: JobQueue, works: UnitsOfWork, log: Log }, keepSentGuard)]],
  register(registrar, settings) {
    registrar.collections(InboundMailCollection, ConversationCollection, MessageCollection)
    registrar.jobs(processJob, purgeJob, forwardJob, feedJob, keepSentJob)
    registrar.operations(listConversations, getConversation, listFiles)
    registrar.routes(readFile)
    registrar.channels(conversationsChannel)
    registrar.provide(Conversations)
    registrar.provide(Forwarding, {
      create: (services) => new Forwarding({ ...services, limit: settings.forwards_per_minute_per_organization }),
    })
    registrar.provide(FeedingToken, {
      inject: { queue: JobQueue, pipelines: EventPipelines },
      create: ({ queue, pipelines }) => new Feeding(queue, pipelines),
    })
    registrar.provide(MailParserToken, {
      inject: { lookup: DnsLookup, clock: Clock },
      create: ({ lookup, clock }) => new MailParser(lookup, clock, settings.hostname),
      stop: (parser) => parser.stop(),
    })
    registrar.provide(MailFilesToken, {
      inject: { store: Store, buckets: Buckets, lookup: DnsLookup, clock: Clock },
      create({ lookup, clock, ...services }) {
        const parser = new MailParser(lookup, clock, settings.hostname, 1)
        return new MailFiles({ ...services, parser, keepDays: settings.keep_raw_days })
      },
      stop: (files) => files.stop(),
    })
    registrar.provide(MailErasure, { inject: mailErasureNeeds, create: mailErasure })
    registrar.provide(MailHistory, { inject: { store: Store }, create: ({ store }) => mailHistory(store) })
    registrar.provide(InboundMailServer, {
      inject: {
        store: Store,
        works: UnitsOfWork,
        queue: JobQueue,
        clock: Clock,
        ids: Ids,
        buckets: Buckets,
        routes: MailRoutes,
        handlers: MailHandlers,
        log: Log,
        limiter: RateLimiter,
        metrics: Metrics,
        pauses: Pauses,
      },
      create({ limiter, log, metrics, ...deps }) {
        const limits = new SmtpLimits(settings, limiter)
        const acceptance = new Acceptance({ ...deps, limits, settings })
        return new MailServer({ settings, acceptance, limits, clock: deps.clock, log, metrics })
      },
      start: (server) => server.start(),
      stop: (server) => server.stop(),
    })
  },
})
