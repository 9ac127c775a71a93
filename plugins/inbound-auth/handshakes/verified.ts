// Challenges and pings signed like deliveries. A right signature receives the response. Others continue to verification, which
// refuses them with the cause.
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
  textAnswer,
} from "./handshake.ts"

/** Returns true if a synchronous scheme confirms the request's signature. */
export function isVerified({ match, view }: HandshakeContext): boolean {
  try {
    const outcome = match(view)
    if (!(outcome instanceof Promise)) return true
    // An asynchronous result does not count. Its rejection is ignored.
    outcome.catch(() => undefined)
    return false
  } catch (error) {
    if (error instanceof Refused) return false
    throw error
  }
}

export const slackUrlVerification: Handshake = (context) => {
  const { view } = context
  if (!isPost(view) || view.form !== undefined || view.request.body.length > 4_096 || member(view, "type") !== "url_verification")
    return undefined
  const challenge = echoable(member(view, "challenge"))
  return challenge !== undefined && isVerified(context) ? textAnswer(challenge) : undefined
}

export const twitchChallenge: Handshake = (context) => {
  const { view } = context
  if (!isPost(view) || singleHeader(view, "twitch-eventsub-message-type") !== "webhook_callback_verification") return undefined
  const challenge = echoable(member(view, "challenge"))
  return challenge !== undefined && isVerified(context) ? textAnswer(challenge) : undefined
}

const maxPingBytes = 16_384

/** Discord also probes with wrong signatures, and expects status 401 for them. */
const discordPing = (type: number, answer: () => ReturnType<Handshake>): Handshake => {
  return (context) => {
    const { view } = context
    if (!isPost(view) || view.request.body.length > maxPingBytes || member(view, "type") !== type || member(view, "event") !== undefined)
      return undefined
    return isVerified(context) ? answer() : emptyAnswer(401)
  }
}

export const discordEventPing = discordPing(0, () => emptyAnswer(204))
export const discordInteractionPing = discordPing(1, () => jsonAnswer({ type: 1 }))

const pingBy = (isPing: (context: HandshakeContext) => boolean): Handshake => {
  return (context) => (isPost(context.view) && isPing(context) && isVerified(context) ? emptyAnswer(200) : undefined)
}

export const githubPing = pingBy(({ view }) => singleHeader(view, "x-github-event") === "ping")
export const googleSync = pingBy(({ view }) => singleHeader(view, "x-goog-resource-state") === "sync")
export const pagerdutyPing = pingBy(
  ({ view }) => view.request.body.includes("pagey.ping") && view.body("event.event_type")[0] === "pagey.ping",
)

const intercomTopic = pingBy(({ view }) => view.request.body.includes('"ping"') && member(view, "topic") === "ping")

/** A ping on setup of the webhook. Some accounts receive a HEAD request first. */
export const intercomPing: Handshake = (context) => (context.view.request.method === "HEAD" ? emptyAnswer(200) : intercomTopic(context))
