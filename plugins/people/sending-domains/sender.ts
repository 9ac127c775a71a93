// Who an organization's mail is from while it has an active domain: an address of the domain, signed with its key.
import type { Store, Vault } from "#core"
import type { ChooseSender } from "../email/index.ts"
import { sealContext } from "./collections.ts"
import { returnPathOf } from "./records.ts"
import { SendingDomainResource } from "./sending-domain.ts"

/** Of several domains the one that is named, else the one that was registered first. None without evidence from DNS. */
export function chooseSender(store: Store, vault: Vault): ChooseSender {
  return async (organization, named) => {
    const active = { status: "active", evidence: { $ne: null }, ...(named === undefined ? {} : { domain: named }) }
    const found = await store.open(SendingDomainResource.collection, organization).first(active, { sort: { created_at: 1 } })
    if (!found) return undefined
    const { id, domain, from_local_part, from_name, forward_to_email, receiving_enabled, selector, private_key, evidence } = found
    // Where DNS leads replies here, they are forwarded from here.
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
