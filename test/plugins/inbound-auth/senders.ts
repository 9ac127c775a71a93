// Senders, written from the providers' documentation, independent of the table under test. Each signs a request as its provider
// does.
// `covers` names the signed part of the request.
import { createHash } from "node:crypto"
import { endpoint, form } from "./requests.ts"
import { base64Key, hexKey, iso, mac, millis, nanos, parted, plain, type Sender, seconds, standard, text, timed } from "./sender-kinds.ts"

const fields = (payload: string) =>
  [
    ["To", "+18005551212"],
    ["Body", payload],
    ["Empty", ""],
    ["Body2", `${payload} & more=`],
  ] as const

const sortedForm = (payload: string) =>
  [...fields(payload)]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, value]) => name + value)
    .join("")

const isForm = { "content-type": "application/x-www-form-urlencoded" }

const writes: readonly Sender[] = [
  plain("github", "x-hub-signature-256", "hex", "sha256="),
  plain("shopify", "x-shopify-hmac-sha256", "base64"),
  plain("shopify_events", "shopify-hmac-sha256", "base64"),
  plain("typeform", "typeform-signature", "base64", "sha256="),
  plain("tally", "tally-signature", "base64"),
  plain("cal_com", "x-cal-signature-256", "hex"),
  plain("intercom", "x-hub-signature", "hex", "sha1=", "sha1"),
  plain("meta_whatsapp", "x-hub-signature-256", "hex", "sha256="),
  plain("meta_lead_ads", "x-hub-signature-256", "hex", "sha256="),
  plain("segment", "x-signature", "hex", "", "sha1"),
  plain("lemon_squeezy", "x-signature", "hex"),
  plain("woocommerce", "x-wc-webhook-signature", "base64"),
  plain("dropbox", "x-dropbox-signature", "hex"),
  plain("docusign", "x-docusign-signature-1", "base64"),
  plain("asana", "x-hook-signature", "hex"),
  plain("bitbucket", "x-hub-signature", "hex", "sha256="),
  plain("jira", "x-hub-signature", "hex", "sha256="),
  plain("sentry", "sentry-hook-signature", "hex"),
  plain("pagerduty", "x-pagerduty-signature", "hex", "v1="),
  plain("vercel", "x-vercel-signature", "hex", "", "sha1"),
  plain("x", "x-twitter-webhooks-signature", "base64", "sha256="),
  plain("razorpay", "x-razorpay-signature", "hex"),
  plain("xero", "x-xero-signature", "base64"),
  plain("attio", "attio-signature", "hex"),
  plain("help_scout", "x-helpscout-signature", "base64", "", "sha1"),
  plain("notion", "x-notion-signature", "hex", "sha256="),
  plain("clickup", "x-signature", "hex"),
  {
    ...plain("squarespace", "squarespace-signature", "hex"),
    secret: hexKey,
    send: (body, _at, secret = hexKey) => ({
      body,
      headers: { "squarespace-signature": mac("sha256", Buffer.from(secret, "hex"), "hex", body) },
    }),
  },
  {
    ...plain("adyen_platform", "hmacsignature", "base64"),
    secret: hexKey,
    send: (body, _at, secret = hexKey) => ({ body, headers: { hmacsignature: mac("sha256", Buffer.from(secret, "hex"), "base64", body) } }),
  },
  {
    ...plain("airtable", "x-airtable-content-mac", "hex"),
    secret: base64Key,
    send: (body, _at, secret = base64Key) => ({
      body,
      headers: { "x-airtable-content-mac": `hmac-sha256=${mac("sha256", Buffer.from(secret, "base64"), "hex", body)}` },
    }),
  },
  {
    ...plain("linkedin", "x-li-signature", "hex"),
    send: (body, _at, secret = text) => ({ body, headers: { "x-li-signature": mac("sha256", secret, "hex", "hmacsha256=", body) } }),
  },
  {
    ...plain("framer", "framer-signature", "hex"),
    signedHeaders: ["framer-signature", "framer-webhook-submission-id"],
    send: (body, _at, secret = text) => ({
      body,
      headers: { "framer-webhook-submission-id": "sub-1", "framer-signature": `sha256=${mac("sha256", secret, "hex", body, "sub-1")}` },
    }),
  },
  {
    ...plain("square", "x-square-hmacsha256-signature", "base64"),
    send: (body, _at, secret = text) => ({
      body,
      headers: { "x-square-hmacsha256-signature": mac("sha256", secret, "base64", endpoint, body) },
    }),
  },
  {
    ...plain("trello", "x-trello-webhook", "base64"),
    send: (body, _at, secret = text) => ({ body, headers: { "x-trello-webhook": mac("sha1", secret, "base64", body, endpoint) } }),
  },
  {
    ...plain("tiktok_shop", "authorization", "hex"),
    config: { app_key: "app-1" },
    send: (body, _at, secret = text) => ({ body, headers: { authorization: mac("sha256", secret, "hex", "app-1", body) } }),
  },
  {
    ...plain("pandadoc", "signature", "hex"),
    signedHeaders: [],
    send: (body, _at, secret = text) => ({ body, headers: {}, url: `${endpoint}?signature=${mac("sha256", secret, "hex", body)}` }),
  },
  timed("slack", "x-slack-signature", "x-slack-request-timestamp", "hex", 300, seconds, (time, body) => `v0:${time}:${body}`, "v0="),
  timed("zoom", "x-zm-signature", "x-zm-request-timestamp", "hex", 300, seconds, (time, body) => `v0:${time}:${body}`, "v0="),
  timed("customer_io", "x-cio-signature", "x-cio-timestamp", "hex", 300, seconds, (time, body) => `v0:${time}:${body}`),
  timed("webflow", "x-webflow-signature", "x-webflow-timestamp", "hex", 300, millis, (time, body) => `${time}:${body}`),
  timed("zendesk", "x-zendesk-webhook-signature", "x-zendesk-webhook-signature-timestamp", "base64", 300, iso, (time, body) => time + body),
  timed("box", "box-signature-primary", "box-delivery-timestamp", "base64", 600, iso, (time, body) => body + time),
  timed(
    "klaviyo",
    "klaviyo-signature",
    "klaviyo-timestamp",
    "hex",
    300,
    (at) => new Date(at).toUTCString(),
    (time, body) => body + time,
  ),
  timed("front", "x-front-signature", "x-front-request-timestamp", "base64", 300, millis, (time, body) => `${time}:${body}`),
  timed("crisp", "x-crisp-signature", "x-crisp-request-timestamp", "hex", 300, millis, (time, body) => `[${time};${body}]`),
  timed(
    "hubspot_v3",
    "x-hubspot-signature-v3",
    "x-hubspot-request-timestamp",
    "base64",
    300,
    millis,
    (time, body) => `POST${endpoint}${body}${time}`,
  ),
  {
    ...timed("close", "close-sig-hash", "close-sig-timestamp", "hex", 300, seconds, (time, body) => time + body),
    secret: hexKey,
    send: (body, at, secret = hexKey) => ({
      body,
      headers: {
        "close-sig-timestamp": seconds(at),
        "close-sig-hash": mac("sha256", Buffer.from(secret, "hex"), "hex", seconds(at), body),
      },
    }),
  },
  {
    ...timed(
      "twitch",
      "twitch-eventsub-message-signature",
      "twitch-eventsub-message-timestamp",
      "hex",
      600,
      nanos,
      (time, body) => `id-1${time}${body}`,
      "sha256=",
    ),
    signedHeaders: ["twitch-eventsub-message-signature", "twitch-eventsub-message-timestamp", "twitch-eventsub-message-id"],
  },
  {
    ...plain("contentful", "x-contentful-signature", "hex"),
    window_s: 30,
    signedHeaders: ["x-contentful-signature", "x-contentful-timestamp", "x-contentful-signed-headers", "x-contentful-topic"],
    send(body, at, secret = text) {
      const names = "x-contentful-signed-headers,x-contentful-timestamp,x-contentful-topic"
      const headers = `x-contentful-signed-headers:${names};x-contentful-timestamp:${at};x-contentful-topic:Entry.publish`
      const canonical = `POST\n${new URL(endpoint).pathname}\n${headers}\n${body}`
      return {
        body,
        headers: {
          "x-contentful-signed-headers": names,
          "x-contentful-timestamp": String(at),
          "x-contentful-topic": "Entry.publish",
          "x-contentful-signature": mac("sha256", secret, "hex", canonical),
        },
      }
    },
  },
  parted(
    "stripe",
    "stripe-signature",
    300,
    seconds,
    (time, body) => `${time}.${body}`,
    (time, signature) => `t=${time},v1=${signature},v0=old`,
  ),
  parted(
    "calendly",
    "calendly-webhook-signature",
    180,
    seconds,
    (time, body) => `${time}.${body}`,
    (time, signature) => `t=${time},v1=${signature}`,
  ),
  parted(
    "tiktok",
    "tiktok-signature",
    300,
    seconds,
    (time, body) => `${time}.${body}`,
    (time, signature) => `t=${time},s=${signature}`,
  ),
  parted(
    "paddle",
    "paddle-signature",
    5,
    seconds,
    (time, body) => `${time}:${body}`,
    (time, signature) => `ts=${time};h1=${signature}`,
  ),
  parted(
    "mux",
    "mux-signature",
    300,
    seconds,
    (time, body) => `${time}.${body}`,
    (time, signature) => `t=${time},v1=${signature}`,
  ),
  parted(
    "workos",
    "workos-signature",
    180,
    millis,
    (time, body) => `${time}.${body}`,
    (time, signature) => `t=${time}, v1=${signature}`,
  ),
  parted(
    "sanity",
    "sanity-webhook-signature",
    300,
    millis,
    (time, body) => `${time}.${body}`,
    (time, signature) => `t=${time},v1=${signature}`,
    "base64url",
  ),
  standard("standard_webhooks", "webhook"),
  standard("svix", "svix"),
  standard("resend", "svix"),
  standard("clerk", "svix"),
  standard("gitlab_signing_token", "webhook"),
  standard("loops", "webhook"),
  standard("supabase", "webhook"),
  standard("stytch", "svix"),
  standard("openai", "webhook"),
  standard("bigcommerce", "webhook"),
  {
    provider: "linear",
    secret: text,
    covers: "body",
    window_s: 60,
    signedHeaders: ["linear-signature"],
    send(payload, at, secret = text) {
      const body = JSON.stringify({ type: "Issue", data: payload, webhookTimestamp: at })
      return { body, headers: { "linear-signature": mac("sha256", secret, "hex", body) } }
    },
  },
  {
    ...plain("hubspot_v2", "x-hubspot-signature", "hex"),
    signedHeaders: ["x-hubspot-signature", "x-hubspot-signature-version"],
    send: (body, _at, secret = text) => ({
      body,
      headers: {
        "x-hubspot-signature-version": "v2",
        "x-hubspot-signature": createHash("sha256").update(`${secret}POST${endpoint}${body}`).digest("hex"),
      },
    }),
  },
  {
    ...plain("hubspot_v1", "x-hubspot-signature", "hex"),
    signedHeaders: ["x-hubspot-signature", "x-hubspot-signature-version"],
    send: (body, _at, secret = text) => ({
      body,
      headers: {
        "x-hubspot-signature-version": "v1",
        "x-hubspot-signature": createHash("sha256").update(`${secret}${body}`).digest("hex"),
      },
    }),
  },
  {
    ...plain("twilio", "x-twilio-signature", "base64"),
    covers: "form",
    send: (payload, _at, secret = text) => ({
      body: form(fields(payload)),
      headers: { ...isForm, "x-twilio-signature": mac("sha1", secret, "base64", endpoint, sortedForm(payload)) },
    }),
  },
  {
    ...plain("mandrill", "x-mandrill-signature", "base64"),
    covers: "form",
    send: (payload, _at, secret = text) => ({
      body: form(fields(payload)),
      headers: { ...isForm, "x-mandrill-signature": mac("sha1", secret, "base64", endpoint, sortedForm(payload)) },
    }),
  },
  {
    ...plain("plivo", "x-plivo-signature-v3", "base64"),
    covers: "form",
    signedHeaders: ["x-plivo-signature-v3", "x-plivo-signature-v3-nonce"],
    send: (payload, _at, secret = text) => ({
      url: `${endpoint}?b=2&a=1`,
      body: form(fields(payload)),
      headers: {
        ...isForm,
        "x-plivo-signature-v3-nonce": "12345",
        "x-plivo-signature-v3": mac("sha256", secret, "base64", `${endpoint}?a=1&b=2.${sortedForm(payload)}.12345`),
      },
    }),
  },
  {
    ...plain("twilio_json", "x-twilio-signature", "base64"),
    send(body, _at, secret = text) {
      const url = `${endpoint}?bodySHA256=${createHash("sha256").update(body).digest("hex")}`
      return { url, body, headers: { "content-type": "application/json", "x-twilio-signature": mac("sha1", secret, "base64", url) } }
    },
  },
  {
    provider: "mailgun",
    secret: text,
    covers: "fields",
    window_s: 300,
    signedHeaders: [],
    send(payload, at, secret = text) {
      const signature = { timestamp: seconds(at), token: "t0k3n", signature: mac("sha256", secret, "hex", `${seconds(at)}t0k3n`) }
      return {
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ signature, "event-data": { event: "opened", id: "e-1", payload } }),
      }
    },
  },
  {
    provider: "dropbox_sign",
    secret: text,
    covers: "fields",
    signedHeaders: [],
    send(payload, at, secret = text) {
      const event = { event_time: seconds(at), event_type: "signed", event_hash: mac("sha256", secret, "hex", `${seconds(at)}signed`) }
      return { headers: { "content-type": "application/json" }, body: JSON.stringify({ event, payload }) }
    },
  },
  {
    provider: "adyen",
    secret: hexKey,
    covers: "fields",
    signedHeaders: [],
    send(payload, _at, secret = hexKey) {
      const reference = payload.replaceAll(":", "")
      const signed = `psp1::Shop:${reference}:1130:EUR:AUTHORISATION:true`
      const hmacSignature = mac("sha256", Buffer.from(secret, "hex"), "base64", signed)
      const item = {
        pspReference: "psp1",
        merchantAccountCode: "Shop",
        merchantReference: reference,
        amount: { value: 1130, currency: "EUR" },
        eventCode: "AUTHORISATION",
        success: "true",
        additionalData: { hmacSignature },
      }
      return {
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ notificationItems: [{ NotificationRequestItem: item }] }),
      }
    },
  },
]

export const senders: readonly Sender[] = writes.map((sender) =>
  sender.provider === "box" || sender.provider === "twitch" ? withFixedHeaders(sender) : sender,
)

/** Adds headers that a provider sends with every delivery besides the signed headers. */
function withFixedHeaders(sender: Sender): Sender {
  const fixed: Record<string, string> =
    sender.provider === "box"
      ? { "box-signature-version": "1", "box-signature-algorithm": "HmacSHA256" }
      : { "twitch-eventsub-message-id": "id-1", "twitch-eventsub-subscription-type": "channel.follow" }
  return {
    ...sender,
    send(body, at, secret) {
      const message = sender.send(body, at, secret)
      return { ...message, headers: { ...message.headers, ...fixed } }
    },
  }
}
