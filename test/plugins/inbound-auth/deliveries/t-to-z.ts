import type { Delivered } from "./delivery.ts"

export const fromTToZ: readonly Delivered[] = [
  {
    provider: "tally",
    source: "https://tally.so/help/webhooks",
    json: {
      eventId: "a4cb511e",
      eventType: "FORM_RESPONSE",
      createdAt: "2026-11-20T10:00:00.000Z",
      data: { responseId: "r1", formId: "f1", fields: [{ key: "q1", label: "Name", type: "INPUT_TEXT", value: "Zoe" }] },
    },
  },
  {
    provider: "telegram",
    source: "https://core.telegram.org/bots/api#setwebhook",
    json: {
      update_id: 10000,
      message: { message_id: 1365, date: 1441645532, chat: { id: 1111111, type: "private", first_name: "Zoe" }, text: "/start" },
    },
  },
  {
    provider: "telnyx",
    source: "https://developers.telnyx.com/docs/messaging/messages/receiving-webhooks",
    json: {
      data: {
        event_type: "message.received",
        id: "b301ed3f",
        occurred_at: "2026-11-20T10:00:00.000+00:00",
        record_type: "event",
        payload: { text: "Hello", from: { phone_number: "+13125550001" } },
      },
      meta: { attempt: 1 },
    },
  },
  {
    provider: "tiktok",
    source: "https://developers.tiktok.com/doc/webhooks-overview",
    json: {
      client_key: "bwo2m45353a6k85",
      event: "video.publish.completed",
      create_time: 1615338610,
      user_openid: "act.1",
      content: '{"share_id":"video.1"}',
    },
  },
  {
    provider: "tiktok_shop",
    source: "https://partner.tiktokshop.com/docv2/page/tts-webhooks-overview",
    config: { app_key: "app-1" },
    json: {
      type: 1,
      tts_notification_id: "7327",
      shop_id: "7494049642642441621",
      timestamp: 1644412885,
      data: { order_id: "576486316948490001", order_status: "UNPAID" },
    },
  },
  {
    provider: "trello",
    source: "https://developer.atlassian.com/cloud/trello/guides/rest-api/webhooks/",
    json: {
      action: { id: "51f9424b", type: "updateCard", date: "2026-11-20T10:00:00.000Z", data: { card: { name: "Card" } } },
      model: { id: "4d5e", name: "Board" },
    },
  },
  {
    provider: "twilio",
    source: "https://www.twilio.com/docs/messaging/guides/webhook-request",
    form: {
      ToCountry: "US",
      MessageSid: "SM1",
      Body: "Ünter & über",
      FromCountry: "US",
      To: "+18005551212",
      From: "+14158675310",
      NumMedia: "0",
      SmsStatus: "received",
      AccountSid: "AC1",
    },
    answer: "<Response/>",
  },
  {
    provider: "twilio",
    source: "https://www.twilio.com/docs/usage/webhooks/webhooks-security",
    get: { MessageSid: "SM2", Body: "Hello there", To: "+18005551212", From: "+14158675310", NumMedia: "0", SmsStatus: "received" },
    answer: "<Response/>",
  },
  {
    provider: "twilio_json",
    source: "https://www.twilio.com/docs/usage/webhooks/webhooks-security",
    json: {
      specversion: "1.0",
      type: "com.twilio.messaging.message.delivered",
      source: "/2010-04-01",
      id: "EZ1",
      data: { messageSid: "SM1" },
    },
  },
  {
    provider: "twitch",
    source: "https://dev.twitch.tv/docs/eventsub/handling-webhook-events/",
    headers: {
      "twitch-eventsub-message-id": "befa7b53",
      "twitch-eventsub-message-type": "notification",
      "twitch-eventsub-subscription-type": "channel.follow",
    },
    json: {
      subscription: { id: "f1c2a387", status: "enabled", type: "channel.follow", version: "1" },
      event: { user_id: "1337", user_login: "zoe" },
    },
  },
  {
    provider: "typeform",
    source: "https://www.typeform.com/developers/webhooks/example-payload/",
    json: {
      event_id: "LtWXD3crgy",
      event_type: "form_response",
      form_response: {
        form_id: "lT4Z3j",
        token: "a3a12ec6",
        submitted_at: "2026-11-20T10:00:00Z",
        answers: [{ type: "email", email: "zoe@example.test", field: { id: "q1", type: "email" } }],
      },
    },
  },
  {
    provider: "vercel",
    source: "https://vercel.com/docs/webhooks/webhooks-api",
    json: {
      id: "e1",
      type: "deployment.created",
      createdAt: 1732096800000,
      region: "sfo1",
      payload: { deployment: { id: "dpl_1", url: "x.vercel.app" } },
    },
  },
  {
    provider: "vonage",
    source: "https://developer.vonage.com/en/messages/concepts/signed-webhooks",
    json: {
      channel: "whatsapp",
      message_uuid: "aaaaaaaa-bbbb-cccc-dddd-0123456789ab",
      to: "447700900000",
      from: "447700900001",
      timestamp: "2026-11-20T10:00:00.000Z",
      message_type: "text",
      text: "Hi",
    },
  },
  {
    provider: "vonage",
    source: "https://developer.vonage.com/en/voice/voice-api/webhook-reference",
    get: { from: "442079460000", to: "447700900000", uuid: "aaaaaaaa", conversation_uuid: "CON-1" },
  },
  {
    provider: "webflow",
    source: "https://developers.webflow.com/data/docs/working-with-webhooks",
    json: {
      triggerType: "form_submission",
      payload: { name: "Contact Us", siteId: "65427cf4", data: { email: "zoe@example.test" }, id: "6321ca84" },
    },
  },
  {
    provider: "wise",
    source: "https://docs.wise.com/api-docs/webhooks-notifications/event-types",
    headers: { "x-delivery-id": "d1", "x-test-notification": "true" },
    json: {
      data: { resource: { type: "transfer", id: 111, profile_id: 222, account_id: 333 }, current_state: "processing" },
      subscription_id: "01234567",
      event_type: "transfers#state-change",
      schema_version: "2.0.0",
      sent_at: "2026-11-20T10:00:00Z",
    },
  },
  {
    provider: "woocommerce",
    source: "https://woocommerce.github.io/woocommerce-rest-api-docs/#webhooks",
    headers: { "x-wc-webhook-topic": "order.created", "x-wc-webhook-delivery-id": "d1", "x-wc-webhook-resource": "order" },
    json: { id: 727, number: "727", status: "processing", total: "29.35", billing: { first_name: "Zoe", email: "zoe@example.test" } },
  },
  {
    provider: "workos",
    source: "https://workos.com/docs/events/data-syncing/webhooks",
    json: {
      id: "event_01",
      event: "dsync.user.created",
      data: { id: "directory_user_01", email: "zoe@example.test" },
      created_at: "2026-11-20T10:00:00.000Z",
    },
  },
  {
    provider: "x",
    source: "https://docs.x.com/x-api/enterprise-gnip-2.0/fundamentals/account-activity",
    json: {
      for_user_id: "2244994945",
      favorite_events: [
        { id: "a7ba59eab0bfcba386f7acedac279542", created_at: "Mon Mar 26 16:33:26 +0000 2018", user: { id_str: "1", name: "Zoe" } },
      ],
    },
  },
  {
    provider: "xero",
    source: "https://developer.xero.com/documentation/guides/webhooks/overview/",
    json: {
      events: [
        {
          resourceUrl: "https://api.xero.com/api.xro/2.0/Contacts/717f2bfc",
          resourceId: "717f2bfc",
          eventDateUtc: "2026-11-20T10:00:00.000",
          eventType: "UPDATE",
          eventCategory: "CONTACT",
          tenantId: "c2cc9b6e",
          tenantType: "ORGANISATION",
        },
      ],
      firstEventSequence: 1,
      lastEventSequence: 1,
      entropy: "S0m3r4Nd0mt3xt",
    },
    answer: "",
  },
  {
    provider: "zendesk",
    source: "https://developer.zendesk.com/documentation/webhooks/verifying/",
    headers: { "x-zendesk-webhook-invocation-id": "i1", "x-zendesk-webhook-id": "w1" },
    json: {
      type: "zen:event-type:user.created",
      account_id: 22129848,
      id: "2b24ef10",
      time: "2026-11-20T10:00:00.000000000Z",
      subject: "zen:user:6596848315901",
      event: {},
      detail: { name: "Zoe" },
    },
  },
  {
    provider: "zendesk",
    source: "https://support.zendesk.com/hc/en-us/articles/4408839108378",
    headers: { "x-zendesk-webhook-invocation-id": "i2" },
    type: "application/xml",
    xml: "<ticket><id>35436</id><title>Help</title></ticket>",
    event: { id: "35436", title: "Help" },
  },
  {
    provider: "zoom",
    source: "https://developers.zoom.us/docs/api/webhooks/",
    json: {
      event: "meeting.started",
      event_ts: 1626230691572,
      payload: { account_id: "a1", object: { id: "1234567890", uuid: "4444AAAiAAAAAiAiAiiAii==", topic: "My Meeting" } },
    },
  },
]
