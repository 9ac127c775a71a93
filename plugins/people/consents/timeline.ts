// What the ledger and the suppression list tell of a lead.
import type { Store } from "#core"
import type { LeadTimelineSource, TimelineEntry } from "../leads/index.ts"
import type { Suppressions } from "../suppressions/index.ts"
import { ConsentCollection, type ConsentEntry } from "./collections.ts"
import type { Ledger } from "./ledger.ts"

export function consentSource(store: Store, ledger: Ledger): LeadTimelineSource {
  return async ({ organization, emails, phones, limit, after }) => {
    const people = [
      ...emails.map((value) => ({ kind: "email" as const, value })),
      ...phones.map((value) => ({ kind: "phone" as const, value })),
    ]
    if (people.length === 0) return []
    const digests = await Promise.all(people.map((person) => ledger.digestOf(organization, person)))
    const options = { sort: { at: -1, id: -1 }, limit, ...(after ? { after } : {}) } as const
    return (await store.open(ConsentCollection, organization).find({ digest: { $in: digests } }, options)).map(step)
  }
}

function step({ id, at, kind, channel, purpose, source, wording, evidence, address }: ConsentEntry): TimelineEntry {
  const on = channel === "all" ? "every channel" : channel
  const summary = `${kind === "given" ? "Consented to" : "Withdrew consent to"} ${purpose} on ${on}.`
  return { id, at, kind: `consent.${kind}`, summary, evidence: { address, source, wording, ...evidence } }
}

export function suppressionSource(suppressions: Suppressions): LeadTimelineSource {
  return async ({ organization, emails, after }) => {
    // A few for each address.
    const found = await suppressions.of(organization, emails)
    const entries = found.map(({ id, created_at: at, reason, source, address, evidence }) => {
      const summary = `${address} was put on the suppression list: ${reason}.`
      return { id, at, kind: "suppression.added", summary, evidence: { address, reason, source, ...evidence } }
    })
    const [lastAt = "", lastId = ""] = after ?? []
    return after ? entries.filter(({ at, id }) => at < lastAt || (at === lastAt && id < lastId)) : entries
  }
}
