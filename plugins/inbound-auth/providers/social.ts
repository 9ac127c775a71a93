// Chat, social networks and their advertising.
import { defaultTolerance_s } from "../checks/timestamp.ts"
import type { PublicKeyScheme } from "../schemes/scheme.ts"
import type { ProviderRow } from "./row.ts"
import { hmacHeader, hmacParts, hmacWithTime, timeIn, timePart } from "./signing.ts"

const meta = {
  scheme: hmacHeader("x-hub-signature-256", "hex", { prefix: "sha256=" }),
  secret: "provider",
  secretName: "Meta app secret (not the verify token)",
  handshake: "meta_subscribe",
  settings: { optional: ["verify_token"] },
  experimental: true,
} as const

const discordScheme: PublicKeyScheme = {
  kind: "ed25519",
  hash: null,
  key: "raw_hex",
  signature: { at: ["header:x-signature-ed25519"], encoding: "hex" },
  signed: "{timestamp}{body}",
  timestamp: timeIn("header:x-signature-timestamp", "s"),
}

const discord = {
  scheme: discordScheme,
  secret: "public_key",
  secretName: "application's public key (hexadecimal)",
  ack_timeout_s: 3,
  experimental: true,
} as const

export const socialProviders: readonly ProviderRow[] = [
  {
    slug: "slack",
    name: "Slack (events, interactivity, slash commands)",
    scheme: hmacWithTime("x-slack-signature", "hex", timeIn("header:x-slack-request-timestamp", "s"), {
      signed: "v0:{timestamp}:{body}",
      prefix: "v0=",
    }),
    secret: "provider",
    secretName: "app's signing secret",
    eventId: ["{body:event_id}"],
    eventType: ["{body:event.type}", "{body:type}"],
    handshake: "slack_url_verification",
    ack_timeout_s: 3,
    experimental: true,
  },
  {
    ...meta,
    slug: "meta_whatsapp",
    name: "WhatsApp Cloud API",
    eventId: [
      "{body:entry[].changes[].value.messages[].id}",
      "{body:entry[].changes[].value.statuses[].id}:{body:entry[].changes[].value.statuses[].status}",
    ],
    eventType: ["{body:entry[].changes[].field}"],
    note: "One app secret signs every product of the app. Without auth_config.verify_token the GET handshake is refused.",
  },
  {
    ...meta,
    slug: "meta_lead_ads",
    name: "Meta Lead Ads (also Messenger, Instagram, Page events)",
    eventId: ["{body:entry[].changes[].value.leadgen_id}"],
    eventType: ["{body:entry[].changes[].field}"],
    note: "The delivery points at a lead, which is fetched from the Graph API. Ids have more than 53 bits.",
  },
  {
    slug: "google_ads_lead_form",
    name: "Google Ads lead forms",
    scheme: { kind: "token_body", at: "body:google_key" },
    secret: "receiver",
    eventId: ["{body:lead_id}"],
    note: "The key is typed into the form's webhook settings. is_test marks test leads.",
  },
  {
    slug: "linkedin",
    name: "LinkedIn (lead sync, social actions)",
    scheme: hmacHeader("x-li-signature", "hex", { signed: "hmacsha256={body}" }),
    secret: "provider",
    secretName: "app's client secret",
    eventId: ["{body:notificationId}"],
    eventType: ["{body:type}", "{body:eventType}"],
    handshake: "linkedin_challenge",
  },
  {
    slug: "tiktok",
    name: "TikTok for Developers",
    scheme: hmacParts("tiktok-signature", { time: "t", signature: "s" }, timePart("s"), { signed: "{timestamp}.{body}" }),
    secret: "provider",
    secretName: "client secret",
    eventType: ["{body:event}"],
    note: "content is JSON text inside the JSON.",
  },
  {
    slug: "tiktok_shop",
    name: "TikTok Shop",
    scheme: hmacHeader("authorization", "hex", { signed: "{setting:app_key}{body}" }),
    secret: "provider",
    secretName: "app secret",
    settings: { required: ["app_key"] },
    experimental: true,
  },
  {
    slug: "twitch",
    name: "Twitch EventSub",
    scheme: hmacWithTime(
      "twitch-eventsub-message-signature",
      "hex",
      { at: ["header:twitch-eventsub-message-timestamp"], unit: "iso", tolerance_s: 2 * defaultTolerance_s },
      { signed: "{header:Twitch-Eventsub-Message-Id}{timestamp}{body}", prefix: "sha256=" },
    ),
    secret: "receiver",
    eventId: ["{header:twitch-eventsub-message-id}"],
    eventType: ["{header:twitch-eventsub-subscription-type}"],
    handshake: "twitch_challenge",
    experimental: true,
  },
  {
    slug: "x",
    name: "X",
    scheme: hmacHeader("x-twitter-webhooks-signature", "base64", { prefix: "sha256=" }),
    secret: "provider",
    secretName: "app's consumer secret",
    eventType: ["{first_key:for_user_id}"],
    handshake: "x_crc",
    ack_timeout_s: 10,
  },
  {
    ...discord,
    slug: "discord_events",
    name: "Discord webhook events",
    eventType: ["{body:event.type}"],
    handshake: "discord_event_ping",
  },
  {
    ...discord,
    slug: "discord_interactions",
    name: "Discord interactions",
    eventId: ["{body:id}"],
    eventType: ["{body:type}"],
    handshake: "discord_interaction_ping",
  },
  {
    slug: "telegram",
    name: "Telegram bots",
    scheme: { kind: "token_header", at: "header:x-telegram-bot-api-secret-token" },
    secret: "provider",
    secretName: "secret_token given to setWebhook",
    secretForm: { pattern: /^[\w-]{1,256}$/, says: "1 to 256 letters, digits, _ and -" },
    eventId: ["{body:update_id}"],
    eventType: ["{first_key:update_id}"],
    experimental: true,
  },
]
