// Several deliveries of a message: to other recipients, or from other clients. The conversation has the message once. An event
// goes to each recipient once. An authenticated delivery counts even after an unauthenticated delivery. Anyone can forge the
// headers and the text of a message.
import { Postponed, type Store } from "#core"
import { InboundMailCollection, maxDeliveries, recipientsOf, type StoredMail } from "./collections.ts"
import { normalAddress } from "./conversations/conversations.ts"
import type { Authentication } from "./parse/authentication.ts"

/** Time until the job checks again for the earlier deliveries. */
const waitMs = 500
/** A delivery stops waiting for earlier ones after this time. */
const maxWaitMs = 600_000

export interface Standing {
  /** Recipients without an equally authenticated delivery. */
  readonly recipients: readonly string[]
  /** The mail with the same message in a conversation. Undefined for the first delivery. */
  readonly same: StoredMail | undefined
}

/** Compares a delivery with the earlier ones. Throws `Postponed` until the earlier deliveries are handled. */
export async function standingOf(store: Store, organization: string, mail: StoredMail, now: number): Promise<Standing> {
  const { content_key, envelope } = mail
  if (content_key === undefined || mail.id === content_key) return { recipients: envelope.recipients, same: undefined }
  const all = await store.open(InboundMailCollection, organization).find({ content_key }, { limit: maxDeliveries })
  const earlier = all.filter((one) => precedes(one, mail))
  const isLate = now - Date.parse(mail.received_at) > maxWaitMs
  if (!isLate && earlier.some(({ handled_by }) => handled_by === null)) throw new Postponed(waitMs)
  const authenticated = mail.authenticated === true
  const handled = earlier.filter(({ handled_by }) => handled_by !== null)
  const taken = recipientsOf(handled.filter((one) => one.authenticated === true || !authenticated))
  return {
    recipients: envelope.recipients.filter((one) => !taken.has(normalAddress(one))),
    same: handled.find((one) => (one.authenticated === true) === authenticated && one.same_as === undefined),
  }
}

/** Returns true if receivers may trust the author's domain. */
export function isAuthenticated({ dmarc, spf, dkim }: Pick<Authentication, "dmarc" | "spf" | "dkim">): boolean {
  return dmarc === "pass" || (dmarc === "none" && (spf === "pass" || dkim === "pass"))
}

/** Returns true if a delivery came before the other. The first delivery has the content's own id. */
function precedes(one: StoredMail, other: StoredMail): boolean {
  if (one.id === other.id) return false
  if (one.id === one.content_key) return true
  return one.received_at < other.received_at || (one.received_at === other.received_at && one.id < other.id)
}
