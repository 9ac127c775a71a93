// Challenges that are sent back as they came, and probes that only want an answer. None of them proves anything about
// the caller, so nothing but a short printable text is ever echoed, as plain text.
import type { HandshakeResponse } from "#core"
import { SecretText } from "../checks/secret-text.ts"
import { echoable, emptyAnswer, isObject, isPost, jsonAnswer, singleHeader, singleQuery, textAnswer } from "./answer.ts"
import type { Handshake } from "./handshake.ts"

const echoText = (text: string | undefined): HandshakeResponse | undefined => {
  const safe = echoable(text)
  return safe === undefined ? undefined : textAnswer(safe)
}

/** GET `hub.mode=subscribe`: the challenge comes back only for the verify token of this pipeline. */
export const metaSubscribe: Handshake = ({ view, config }) => {
  if (view.request.method !== "GET" || singleQuery(view, "hub.mode") !== "subscribe") return undefined
  const token = singleQuery(view, "hub.verify_token")
  const known = config.verify_token !== undefined && token !== undefined && new SecretText(config.verify_token).equals(token)
  if (!known) return textAnswer("The verify token is not the one in auth_config.verify_token.", 403)
  return echoText(singleQuery(view, "hub.challenge")) ?? textAnswer("hub.challenge is absent.", 400)
}

export const dropboxChallenge: Handshake = ({ view }) =>
  view.request.method === "GET" ? echoText(singleQuery(view, "challenge")) : undefined

/** POST with an empty body and `validationToken` in the query. */
export const microsoftValidation: Handshake = ({ view }) =>
  isPost(view) && view.request.body.length === 0 ? echoText(singleQuery(view, "validationToken")) : undefined

/** A body that is exactly `{ challenge }`. */
export const mondayChallenge: Handshake = ({ view }) => {
  if (!isPost(view) || view.request.body.length > 2_048 || !isObject(view.document) || Object.keys(view.document).length !== 1)
    return undefined
  const challenge = echoable(view.document["challenge"])
  return challenge === undefined ? undefined : jsonAnswer({ challenge })
}

export const frontChallenge: Handshake = ({ view }) => (isPost(view) ? echoText(singleHeader(view, "x-front-challenge")) : undefined)

/** A GET or HEAD when the webhook is saved. */
export const reachabilityProbe: Handshake = ({ view }) =>
  view.request.method === "GET" || view.request.method === "HEAD" ? emptyAnswer(200) : undefined
