// Whose mail arrives under a domain: a global index of the active domains, kept with each change of one. A domain that
// several organizations have verified is that of the one that registered it first.
import { type Document, defineCollection, type Store, token, type UnitOfWork } from "#core"
import { domainId, SendingDomainCollection, type StoredDomain } from "./collections.ts"
import { asciiOf } from "./domain-name.ts"
import { returnPathOf } from "./records.ts"

interface StoredRoute extends Document {
  domain: string
  owner_id: string
  receives: boolean
  registered_at: string
}

/** `id` is that of the sending domain. */
export const MailRouteCollection = defineCollection<StoredRoute>()({
  name: "mail_routes",
  scope: "global",
  times: ["registered_at"],
  indexes: [{ fields: ["domain", "registered_at"] }],
  audit: "none",
})

export interface MailRoute {
  readonly organization: string
  /** The sending domain, also where the mail is for its return path. */
  readonly domain: string
  /** `bounce`: for the return path, `bounce.<domain>`. */
  readonly kind: "mail" | "bounce"
}

export interface MailRoutes {
  /** The active domain that takes mail for this host; undefined where none does. */
  of(host: string): Promise<MailRoute | undefined>
  /** The receiving domain that was registered first: its mailbox gets mail for the service's own postmaster. */
  first(): Promise<MailRoute | undefined>
  /** The mailbox to which the domain's mail is also delivered; empty where it names none. */
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
      return (await store.open(SendingDomainCollection, organization).get(domainId(organization, domain)))?.forward_to_email ?? ""
    },
  }
}

/** Stages the route of a domain as it is now, or that it has none any more. */
export function stageRoute(
  work: UnitOfWork,
  organization: string,
  { id, domain, status, receiving_enabled, created_at }: StoredDomain,
): void {
  const routes = work.in(MailRouteCollection)
  const route = { domain, owner_id: organization, receives: receiving_enabled, registered_at: created_at }
  if (status === "active") routes.update(id, { $set: route }, { upsert: true })
  else routes.remove(id, { optional: true })
}
