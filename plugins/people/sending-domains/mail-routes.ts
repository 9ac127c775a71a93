// Finds the organization for the host of received mail. If several organizations have the domain active, the earliest
// registration wins.
import { type Store, token } from "#core"
import { domainId, MailRouteCollection } from "./collections.ts"
import { asciiOf } from "./domain-name.ts"
import { returnPathOf } from "./registrations.ts"
import { SendingDomainResource } from "./sending-domain.ts"

export interface MailRoute {
  readonly organization: string
  /** The sending domain, also for mail on its return path. */
  readonly domain: string
  /** `bounce`: for the return path, `bounce.<domain>`. */
  readonly kind: "mail" | "bounce"
}

export interface MailRoutes {
  /** Returns the active receiving domain of this host, or undefined. */
  of(host: string): Promise<MailRoute | undefined>
  /** Returns the earliest registered receiving domain. Its mailbox gets mail for the service's own postmaster. */
  first(): Promise<MailRoute | undefined>
  /** Returns the forwarding address of the domain. Empty if unset. */
  forwardTo(route: MailRoute): Promise<string>
}

export const MailRoutes = token<MailRoutes>("MailRoutes")

export function createMailRoutes(store: Store): MailRoutes {
  const first = (filter: Record<string, string | boolean>) => store.open(MailRouteCollection).first(filter, { sort: { registered_at: 1 } })
  return {
    async of(host) {
      const name = asciiOf(host)
      const receiving = await first({ domain: name, receives: true })
      if (receiving) return { organization: receiving.owner_id, domain: name, kind: "mail" }
      const under = name.slice(name.indexOf(".") + 1)
      const bouncing = returnPathOf(under) === name ? await first({ domain: under }) : undefined
      return bouncing && { organization: bouncing.owner_id, domain: under, kind: "bounce" }
    },
    async first() {
      const found = await first({ receives: true })
      return found && { organization: found.owner_id, domain: found.domain, kind: "mail" }
    },
    async forwardTo({ organization, domain }) {
      return (await store.open(SendingDomainResource.collection, organization).get(domainId(organization, domain)))?.forward_to_email ?? ""
    },
  }
}
