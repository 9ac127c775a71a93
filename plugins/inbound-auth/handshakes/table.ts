// All setup handshakes, by their name in the provider rows.
import { type HandshakeResponse, isRecord } from "#core"
import { SecretText } from "../checks/secret-header.ts"
import { Refused } from "../request/refusal.ts"
import {
  echoable,
  emptyAnswer,
  type Handshake,
  type HandshakeContext,
  isPost,
  jsonAnswer,
  member,
  singleHeader,
  singleQuery,
  textAnswer,
} from "./handshake.ts"
import { linkedinChallenge, xCrc, zoomValidation } from "./signed-challenge.ts"
import {
  discordEventPing,
  discordInteractionPing,
  githubPing,
  googleSync,
  intercomPing,
  isVerified,
  pagerdutyPing,
  slackUrlVerification,
  twitchChallenge,
} from "./verified.ts"

// Probes with special rules for signatures.

/** On save, WooCommerce posts only `webhook_id=<n>`, unsigned. The post has no content to process. */
const woocommercePing: Handshake = ({ view }) =>
  isPost(view) && view.request.body.length < 64 && /^webhook_id=\d+$/.test(view.text) ? emptyAnswer(200) : undefined

/** Mandrill sends a HEAD request, then may post an empty list signed with a fixed key. The list has no content to process. */
const mandrillProbe: Handshake = ({ view }) => {
  if (view.request.method === "HEAD") return emptyAnswer(200)
  return isPost(view) && view.request.body.length < 64 && member(view, "mandrill_events") === "[]" ? emptyAnswer(200) : undefined
}

/**
 * Xero's intent to receive: bodies without events, some with deliberately wrong signatures. The response is empty, with status
 * 200 for right signatures and 401 for wrong ones.
 */
const xeroIntent: Handshake = (context) => {
  const { view } = context
  if (!isPost(view) || view.request.body.length > 1_024) return undefined
  const events = member(view, "events")
  if (!Array.isArray(events) || events.length > 0) return undefined
  return isVerified(context) ? emptyAnswer(200) : emptyAnswer(401)
}

// Providers that deliver the key in the handshake itself. The sender is not authenticated, so the key is stored only if the
// pipeline has none. Otherwise any caller could replace the key.

/** Asana: the header X-Hook-Secret is echoed. A signed body without events is a heartbeat. */
const asanaSecret: Handshake = (context) => {
  const { view, secrets } = context
  if (!isPost(view)) return undefined
  const secret = echoable(singleHeader(view, "x-hook-secret"))
  if (secret !== undefined) {
    return secrets.length > 0 ? emptyAnswer(409) : { status: 200, headers: { "x-hook-secret": secret }, body: "", deliveredSecret: secret }
  }
  if (view.request.body.length > 64 || !isRecord(view.document)) return undefined
  const { events } = view.document
  const heartbeat = Array.isArray(events) && events.length === 0
  return heartbeat && isVerified(context) ? emptyAnswer(200) : undefined
}

/** Notion: the body is exactly `{ verification_token }`. */
const notionToken: Handshake = ({ view, secrets }) => {
  if (!isPost(view) || view.request.body.length > 1_024 || !isRecord(view.document) || Object.keys(view.document).length !== 1)
    return undefined
  const token = echoable(view.document["verification_token"])
  if (token === undefined) return undefined
  return secrets.length > 0 ? emptyAnswer(409) : { ...emptyAnswer(200), deliveredSecret: token }
}

// Amazon SNS asks the receiver to confirm a subscription by fetching a URL. The message is first verified with its certificate,
// which needs another fetch. The response is sent at once, and the confirmation follows.

const confirmAddress = /^https:\/\/sns\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?\/\?Action=ConfirmSubscription&[\w=&%.:+/-]+$/

let underway = 0
const maxUnderway = 4

const snsSubscription: Handshake = (context) => {
  const { view } = context
  if (!isPost(view) || singleHeader(view, "x-amz-sns-message-type") !== "SubscriptionConfirmation") return undefined
  if (view.body("Type")[0] !== "SubscriptionConfirmation" || view.body("TopicArn")[0] !== context.config.topic_arn) return undefined
  if (underway >= maxUnderway) return emptyAnswer(503)
  underway += 1
  confirm(context)
    .then(
      () => context.note(`The subscription to ${context.config.topic_arn} is confirmed.`),
      (error: unknown) => context.note(`The subscription to ${context.config.topic_arn} was not confirmed: ${reason(error)}`),
    )
    .finally(() => {
      underway -= 1
    })
  return emptyAnswer(200)
}

async function confirm({ match, view, fetcher }: HandshakeContext): Promise<void> {
  await match(view)
  const [address = ""] = view.body("SubscribeURL")
  if (!confirmAddress.test(address)) throw new Refused("foreign_address", "SubscribeURL is not an address of Amazon SNS.")
  await fetcher.get(address)
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : "unknown reason"
}

// Echoed challenges and reachability probes. They do not authenticate the caller, so only a short printable text is echoed, as
// plain text.

const echoText = (text: string | undefined): HandshakeResponse | undefined => {
  const safe = echoable(text)
  return safe === undefined ? undefined : textAnswer(safe)
}

/** GET `hub.mode=subscribe`: echoes the challenge only for the pipeline's verify token. */
const metaSubscribe: Handshake = ({ view, config }) => {
  if (view.request.method !== "GET" || singleQuery(view, "hub.mode") !== "subscribe") return undefined
  const token = singleQuery(view, "hub.verify_token")
  const tokenMatches = config.verify_token !== undefined && token !== undefined && new SecretText(config.verify_token).equals(token)
  if (!tokenMatches) return textAnswer("The verify token is not the one in auth_config.verify_token.", 403)
  return echoText(singleQuery(view, "hub.challenge")) ?? textAnswer("hub.challenge is absent.", 400)
}

const dropboxChallenge: Handshake = ({ view }) => (view.request.method === "GET" ? echoText(singleQuery(view, "challenge")) : undefined)

/** POST with an empty body and `validationToken` in the query. */
const microsoftValidation: Handshake = ({ view }) =>
  isPost(view) && view.request.body.length === 0 ? echoText(singleQuery(view, "validationToken")) : undefined

/** The body is exactly `{ challenge }`. */
const mondayChallenge: Handshake = ({ view }) => {
  if (!isPost(view) || view.request.body.length > 2_048 || !isRecord(view.document) || Object.keys(view.document).length !== 1)
    return undefined
  const challenge = echoable(view.document["challenge"])
  return challenge === undefined ? undefined : jsonAnswer({ challenge })
}

const frontChallenge: Handshake = ({ view }) => (isPost(view) ? echoText(singleHeader(view, "x-front-challenge")) : undefined)

/** A GET or HEAD request on save of the webhook. */
const reachabilityProbe: Handshake = ({ view }) =>
  view.request.method === "GET" || view.request.method === "HEAD" ? emptyAnswer(200) : undefined

export const handshakes = {
  asana_secret: asanaSecret,
  discord_event_ping: discordEventPing,
  discord_interaction_ping: discordInteractionPing,
  dropbox_challenge: dropboxChallenge,
  front_challenge: frontChallenge,
  github_ping: githubPing,
  google_sync: googleSync,
  intercom_ping: intercomPing,
  linkedin_challenge: linkedinChallenge,
  mandrill_probe: mandrillProbe,
  meta_subscribe: metaSubscribe,
  microsoft_validation: microsoftValidation,
  monday_challenge: mondayChallenge,
  notion_token: notionToken,
  pagerduty_ping: pagerdutyPing,
  reachability_probe: reachabilityProbe,
  slack_url_verification: slackUrlVerification,
  sns_subscription: snsSubscription,
  twitch_challenge: twitchChallenge,
  woocommerce_ping: woocommercePing,
  x_crc: xCrc,
  xero_intent: xeroIntent,
  zoom_validation: zoomValidation,
} satisfies Record<string, Handshake>

export type HandshakeName = keyof typeof handshakes
