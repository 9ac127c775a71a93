// Responses with an HMAC under the key that also signs deliveries. The caller chooses the text, so only texts in a form
// impossible for deliveries are signed. Otherwise any caller could forge events.

import { createHmac } from "node:crypto"
import { isRecord, parsedJson } from "#core"
import { emptyAnswer, type Handshake, type HandshakeContext, isPost, jsonAnswer, member, singleQuery } from "./handshake.ts"

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i
/** Excludes `:`, because the signed text of every delivery contains it. */
const plainToken = /^[A-Za-z0-9_-]{8,128}$/
/** Format of X: base64 or words, without JSON, forms and spaces. */
const crcToken = /^(?=.*[A-Za-z])[A-Za-z0-9_+/-]{8,128}={0,2}$/

function newestKey({ secrets }: HandshakeContext): string | undefined {
  return secrets[0]?.value
}

/** GET `challengeCode`, a UUID. The signed text of deliveries starts with `hmacsha256=`. */
export const linkedinChallenge: Handshake = (context) => {
  const { view } = context
  if (view.request.method !== "GET") return undefined
  const code = singleQuery(view, "challengeCode")
  if (code === undefined) return undefined
  const key = newestKey(context)
  if (key === undefined || !uuid.test(code)) return emptyAnswer(400)
  return jsonAnswer({ challengeCode: code, challengeResponse: createHmac("sha256", key).update(code).digest("hex") })
}

/** POST `endpoint.url_validation`. The signed text of deliveries starts with `v0:`. */
export const zoomValidation: Handshake = (context) => {
  const { view } = context
  if (!isPost(view) || view.request.body.length > 4_096 || member(view, "event") !== "endpoint.url_validation") return undefined
  const payload = member(view, "payload")
  const token = isRecord(payload) ? payload["plainToken"] : undefined
  const key = newestKey(context)
  if (key === undefined || typeof token !== "string" || !plainToken.test(token)) return emptyAnswer(400)
  return jsonAnswer({ plainToken: token, encryptedToken: createHmac("sha256", key).update(token).digest("hex") })
}

/** GET `crc_token`. Deliveries sign the bare body, so a JSON token (for example a number) is refused. */
export const xCrc: Handshake = (context) => {
  const { view } = context
  if (view.request.method !== "GET") return undefined
  const token = singleQuery(view, "crc_token")
  if (token === undefined) return undefined
  const key = newestKey(context)
  if (key === undefined || !crcToken.test(token) || parsedJson(token) !== undefined) return emptyAnswer(400)
  return jsonAnswer({ response_token: `sha256=${createHmac("sha256", key).update(token).digest("base64")}` })
}
