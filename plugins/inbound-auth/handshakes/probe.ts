// Probes with peculiar rules about signatures.
import { emptyAnswer, isPost, member } from "./answer.ts"
import type { Handshake } from "./handshake.ts"
import { isVerified } from "./verified.ts"

/** On saving WooCommerce posts just `webhook_id=<n>`, unsigned; there is nothing in it to process. */
export const woocommercePing: Handshake = ({ view }) =>
  isPost(view) && view.request.body.length < 64 && /^webhook_id=\d+$/.test(view.text) ? emptyAnswer(200) : undefined

/** Mandrill asks by HEAD, then may post an empty list signed with a fixed key; there is nothing in it to process. */
export const mandrillProbe: Handshake = ({ view }) => {
  if (view.request.method === "HEAD") return emptyAnswer(200)
  return isPost(view) && view.request.body.length < 64 && member(view, "mandrill_events") === "[]" ? emptyAnswer(200) : undefined
}

/**
 * Xero's intent to receive: bodies without events, some signed wrongly on purpose. 200 for the right ones, 401 for the
 * wrong ones, both empty.
 */
export const xeroIntent: Handshake = (context) => {
  const { view } = context
  if (!isPost(view) || view.request.body.length > 1_024) return undefined
  const events = member(view, "events")
  if (!Array.isArray(events) || events.length > 0) return undefined
  return isVerified(context) ? emptyAnswer(200) : emptyAnswer(401)
}
