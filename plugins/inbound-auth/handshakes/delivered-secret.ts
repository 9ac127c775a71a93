// Providers that hand over the key in the handshake itself. Nothing proves who hands it over, so it is taken only while
// none is stored: otherwise anyone could replace it.
import { echoable, emptyAnswer, isObject, isPost, singleHeader } from "./answer.ts"
import type { Handshake } from "./handshake.ts"
import { isVerified } from "./verified.ts"

/** Asana: header X-Hook-Secret, echoed. A signed body with no events is its heartbeat. */
export const asanaSecret: Handshake = (context) => {
  const { view, secrets } = context
  if (!isPost(view)) return undefined
  const secret = echoable(singleHeader(view, "x-hook-secret"))
  if (secret !== undefined) {
    return secrets.length > 0 ? emptyAnswer(409) : { status: 200, headers: { "x-hook-secret": secret }, body: "", deliveredSecret: secret }
  }
  if (view.request.body.length > 64 || !isObject(view.document)) return undefined
  const { events } = view.document
  const heartbeat = Array.isArray(events) && events.length === 0
  return heartbeat && isVerified(context) ? emptyAnswer(200) : undefined
}

/** Notion: a body that is exactly `{ verification_token }`. */
export const notionToken: Handshake = ({ view, secrets }) => {
  if (!isPost(view) || view.request.body.length > 1_024 || !isObject(view.document) || Object.keys(view.document).length !== 1)
    return undefined
  const token = echoable(view.document["verification_token"])
  if (token === undefined) return undefined
  return secrets.length > 0 ? emptyAnswer(409) : { ...emptyAnswer(200), deliveredSecret: token }
}
