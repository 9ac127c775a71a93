// Mail that the service receives: an SMTP server for the domains that receive, and what is done with each message.
import { Clock, definePlugin, Ids, JobQueue, Log, RateLimiter, Store, token, UnitsOfWork } from "#core"
import { Buckets } from "../buckets/index.ts"
import { MailRoutes } from "../sending-domains/index.ts"
import { InboundMailCollection } from "./collections.ts"
import { createMailHandlers, MailHandlers } from "./handlers.ts"
import { processJob, purgeJob } from "./jobs.ts"
import { Settings } from "./settings.ts"
import { Acceptance } from "./smtp/acceptance.ts"
import { SmtpLimits } from "./smtp/limits.ts"
import { MailServer } from "./smtp/server.ts"

export { type MailHandler, MailHandlers, type MailRecipient, type ReceivedMail } from "./handlers.ts"
export { headersOf, type MailContent } from "./parse/content.ts"

/** The SMTP server, for tests: where it listens. */
export const InboundMailServer = token<MailServer>("InboundMailServer")

export default definePlugin({
  id: "inbound-mail",
  needs: ["buckets", "sending-domains"],
  config: Settings,
  register(registrar, settings) {
    registrar.collections(InboundMailCollection)
    registrar.jobs(processJob, purgeJob)
    registrar.provide(MailHandlers, { create: createMailHandlers })
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
      },
      create({ limiter, log, ...deps }) {
        const limits = new SmtpLimits(settings, limiter)
        const acceptance = new Acceptance({ ...deps, limits, settings })
        return new MailServer({ settings, acceptance, limits, clock: deps.clock, log })
      },
      start: (server) => server.start(),
      stop: (server) => server.stop(),
    })
  },
})
