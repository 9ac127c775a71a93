// Sending domains: an organization's own domains. Mail leaves from a domain once its DNS records are correct.
import { Clock, defineJob, definePlugin, injected, Live, Log, Scheduler, Store, Vault } from "#core"
import { importedAtStart, Outgoing } from "#core/engine"
import { type ChooseSender, SenderChoices } from "../email/index.ts"
import { MailRouteCollection, sealContext } from "./collections.ts"
import { authoritativeLookup } from "./dns/authoritative.ts"
import { askServer, configuredServers, createLookup, DnsLookup, emptyLookup } from "./dns/lookup.ts"
import { createMailRoutes, MailRoutes } from "./mail-routes.ts"
import { disableDomain, enableDomain, verifyDomain } from "./operations/checking.ts"
import { reasons } from "./reasons.ts"
import { Registrations, returnPathOf } from "./registrations.ts"
import { checkRef, SendingDomainResource } from "./sending-domain.ts"
import { SendingDomains, SendingDomainsToken, sendingDomainsChannel } from "./sending-domains.ts"
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

const checkJob = defineJob(checkRef, {
  summary: "Checks the DNS records of a sending domain.",
  inject: { domains: SendingDomainsToken },
  async run({ payload: { organization, domain }, deps: { domains }, work }) {
    const stored = await domains.find(organization, domain)
    if (stored && stored.status !== "disabled") await domains.check(work, organization, stored, false)
  },
})

// Chooses the sender of an organization's mail while the organization has an active domain. The sender is an address of the
// domain, signed with its key.

/** Of several domains chooses the requested domain, else the earliest registration. Returns undefined without evidence from DNS. */
function chooseSender(store: Store, vault: Vault): ChooseSender {
  return async (organization, named) => {
    const active = { status: "active", evidence: { $ne: null }, ...(named === undefined ? {} : { domain: named }) }
    const found = await store.open(SendingDomainResource.collection, organization).first(active, { sort: { created_at: 1 } })
    if (!found) return undefined
    const { id, domain, from_local_part, from_name, forward_to_email, receiving_enabled, selector, private_key, evidence } = found
    // If DNS routes replies to the service, the service forwards them.
    const receives = receiving_enabled && evidence?.records.some(({ record, state }) => record === "mx" && state === "ok")
    const replies = forward_to_email !== "" && !receives ? { reply_to: [{ name: "", address: forward_to_email }] } : {}
    return {
      from: { name: from_name, address: `${from_local_part}@${domain}` },
      ...replies,
      envelope_from: `bounces@${returnPathOf(domain)}`,
      dkim: { domain, selector, privateKey: vault.open(private_key, sealContext(id)) },
    }
  }
}
