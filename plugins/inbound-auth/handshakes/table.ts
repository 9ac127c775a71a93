// Every setup handshake, by the name that provider rows give.
import { asanaSecret, notionToken } from "./delivered-secret.ts"
import { dropboxChallenge, frontChallenge, metaSubscribe, microsoftValidation, mondayChallenge, reachabilityProbe } from "./echo.ts"
import type { Handshake } from "./handshake.ts"
import { mandrillProbe, woocommercePing, xeroIntent } from "./probe.ts"
import { linkedinChallenge, xCrc, zoomValidation } from "./signed-challenge.ts"
import { snsSubscription } from "./sns.ts"
import {
  discordEventPing,
  discordInteractionPing,
  githubPing,
  googleSync,
  intercomPing,
  pagerdutyPing,
  slackUrlVerification,
  twitchChallenge,
} from "./verified.ts"

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
