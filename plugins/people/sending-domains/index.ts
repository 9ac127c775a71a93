// Sending domains: an organization's own domains, from which mail leaves once DNS shows that they are set up.
import { Clock, definePlugin, injected, Live, Log, Scheduler, Store, Vault } from "#core"
import { importedAtStart, Outgoing } from "#core/engine"
import { SenderChoices } from "../email/index.ts"
import { sendingDomainsChannel } from "./channel.ts"
import { checkJob } from "./checks/job.ts"
import { authoritativeLookup } from "./dns/authoritative.ts"
import { askServer, configuredServers, createLookup, DnsLookup, emptyLookup } from "./dns/lookup.ts"
import { MailRouteCollection } from "./mail-route.ts"
import { createMailRoutes, MailRoutes } from "./mail-routes.ts"
import { disableDomain, enableDomain, verifyDomain } from "./operations/checking.ts"
import { reasons } from "./reasons.ts"
import { Registrations } from "./registrations.ts"
import { chooseSender } from "./sender.ts"
import { SendingDomainResource } from "./sending-domain.ts"
import { SendingDomains, SendingDomainsToken } from "./sending-domains.ts"
import { pointsNowhere, Settings, unsetHosts } from "./settings.ts"

export { type Answer as DnsAnswer, DnsLookup, type Lookup } from "./dns/lookup.ts"
export { type MailRoute, MailRoutes } from "./mail-routes.ts"

export default definePlugin({
  id: "sending-domains",
  reasons,
  needs: ["email"],
  config: Settings,
  extend: [[SenderChoices, injected({ store: Store, vault: Vault }, ({ store, vault }) => chooseSender(store, vault))]],
  register(registrar, settings) {
    registrar.resources(SendingDomainResource)
    registrar.collections(MailRouteCollection)
    registrar.operations(verifyDomain, disableDomain, enableDomain)
    registrar.channels(sendingDomainsChannel)
    registrar.jobs(checkJob)
    // Without this host no domain can be verified.
    if (!pointsNowhere(settings.spf_host))
      registrar.run(
        "libraries",
        importedAtStart(() => Promise.all([import("dns2"), import("mailauth")])),
      )
    registrar.provide(DnsLookup, {
      inject: { outgoing: Outgoing },
      create: ({ outgoing }) => (outgoing.capture ? emptyLookup : createLookup(settings)),
    })
    registrar.provide(MailRoutes, { inject: { store: Store }, create: ({ store }) => createMailRoutes(store) })
    registrar.provide(Registrations, { create: (deps) => new Registrations({ ...deps, settings }) })
    registrar.provide(SendingDomainsToken, {
      inject: { store: Store, clock: Clock, vault: Vault, live: Live, scheduler: Scheduler, lookup: DnsLookup, log: Log },
      create(deps) {
        const parts = { recursive: deps.lookup, ask: askServer(settings) }
        const ownLookup = () =>
          deps.lookup === emptyLookup ? emptyLookup : authoritativeLookup({ ...parts, configured: configuredServers(settings) })
        const unset = unsetHosts(settings)
        if (unset.length > 0)
          deps.log.info({ unset }, "sending domains cannot be verified: the hosts that their records point to are not set")
        return new SendingDomains({ ...deps, ownLookup })
      },
    })
  },
})
