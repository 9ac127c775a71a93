// Sending domains: an organization's own domains, from which mail leaves once DNS shows that they are set up.
import { Clock, definePlugin, Ids, Store, Vault } from "#core"
import { SendingDomainCollection } from "./collections.ts"
import { createLookup } from "./dns/lookup.ts"
import { deleteDomain, getDomain, listDomains, registerDomain, updateDomain } from "./operations/domains.ts"
import { reasons } from "./reasons.ts"
import { SendingDomains, SendingDomainsToken } from "./sending-domains.ts"
import { Settings } from "./settings.ts"

export default definePlugin({
  id: "sending-domains",
  reasons,
  needs: ["email"],
  config: Settings,
  register(registrar, settings) {
    registrar.collections(SendingDomainCollection)
    registrar.operations(registerDomain, listDomains, getDomain, updateDomain, deleteDomain)
    registrar.provide(SendingDomainsToken, {
      inject: { store: Store, clock: Clock, ids: Ids, vault: Vault },
      create: (deps) => new SendingDomains({ ...deps, lookup: createLookup(settings), settings }),
    })
  },
})
