import type { Delivered } from "./delivery.ts"

const soap = `<?xml version="1.0" encoding="UTF-8"?>
<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
 <soapenv:Body>
  <notifications xmlns="http://soap.sforce.com/2005/09/outbound">
   <OrganizationId>00D000000000001</OrganizationId>
   <ActionId>04k000000000001</ActionId>
   <SessionId xsi:nil="true"/>
   <EnterpriseUrl>https://x.my.salesforce.com/services/Soap/c/60.0</EnterpriseUrl>
   <Notification>
    <Id>04l000000000001</Id>
    <sObject xsi:type="sf:Lead" xmlns:sf="urn:sobject.enterprise.soap.sforce.com">
     <sf:Id>00Q000000000001</sf:Id>
     <sf:Company>Müller &amp; Söhne</sf:Company>
    </sObject>
   </Notification>
  </notifications>
 </soapenv:Body>
</soapenv:Envelope>`

export const fromPToS: readonly Delivered[] = [
  {
    provider: "paddle",
    source: "https://developer.paddle.com/webhooks/overview",
    json: {
      event_id: "evt_01",
      event_type: "transaction.completed",
      occurred_at: "2026-11-20T10:00:00.000000Z",
      notification_id: "ntf_01",
      data: { id: "txn_01", status: "completed" },
    },
  },
  {
    provider: "paddle_classic",
    source: "https://developer.paddle.com/classic/webhook-reference/verifying-webhooks",
    form: {
      alert_name: "subscription_created",
      alert_id: "1234",
      email: "zoe@example.test",
      subscription_id: "9",
      p_signature: "$signature",
    },
    event: { alert_name: "subscription_created", alert_id: "1234", email: "zoe@example.test", subscription_id: "9" },
  },
  {
    provider: "pagerduty",
    source: "https://developer.pagerduty.com/docs/webhooks-overview",
    json: {
      event: {
        id: "01",
        event_type: "incident.triggered",
        resource_type: "incident",
        occurred_at: "2026-11-20T10:00:00.000Z",
        data: { id: "P1", type: "incident" },
      },
    },
  },
  {
    provider: "pandadoc",
    source: "https://developers.pandadoc.com/docs/webhooks",
    json: [{ event: "document_state_changed", data: { id: "d1", name: "Offer", status: "document.completed" } }],
  },
  {
    provider: "paypal",
    source: "https://developer.paypal.com/api/rest/webhooks/rest/",
    json: {
      id: "WH-2WR32451HC0233532",
      event_version: "1.0",
      create_time: "2026-11-20T10:00:00.000Z",
      resource_type: "sale",
      event_type: "PAYMENT.SALE.COMPLETED",
      resource: { id: "80021663DE681814L", state: "completed" },
    },
  },
  {
    provider: "pipedrive",
    source: "https://pipedrive.readme.io/docs/guide-for-webhooks-v2",
    json: {
      meta: { action: "create", entity: "deal", id: "m1", entity_id: "1", timestamp: "2026-11-20T10:00:00.000Z", version: "2.0" },
      data: { id: 1, title: "Deal" },
      previous: null,
    },
  },
  {
    provider: "plaid",
    source: "https://plaid.com/docs/api/webhooks/",
    json: {
      webhook_type: "TRANSACTIONS",
      webhook_code: "SYNC_UPDATES_AVAILABLE",
      item_id: "i1",
      initial_update_complete: true,
      environment: "production",
    },
  },
  {
    provider: "plivo",
    source: "https://www.plivo.com/docs/messaging/api/message/receive-a-message",
    form: { From: "14155551234", To: "14155556789", Type: "sms", Text: "Hello & goodbye", MessageUUID: "m-1" },
    answer: "<Response/>",
  },
  {
    provider: "plivo",
    source: "https://www.plivo.com/docs/messaging/concepts/signature-validation",
    get: { From: "14155551234", To: "14155556789", Text: "Hello" },
    answer: "<Response/>",
  },
  {
    provider: "postmark",
    source: "https://postmarkapp.com/developer/webhooks/delivery-webhook",
    json: {
      RecordType: "Delivery",
      MessageID: "883953f4",
      Recipient: "zoe@example.test",
      DeliveredAt: "2026-11-20T10:00:00Z",
      ServerID: 23,
      Metadata: {},
    },
  },
  {
    provider: "razorpay",
    source: "https://razorpay.com/docs/webhooks/payloads/payments/",
    headers: { "x-razorpay-event-id": "e1" },
    json: {
      entity: "event",
      account_id: "acc_1",
      event: "payment.captured",
      contains: ["payment"],
      payload: { payment: { entity: { id: "pay_1", amount: 100 } } },
      created_at: 1567674606,
    },
  },
  {
    provider: "resend",
    source: "https://resend.com/docs/dashboard/webhooks/event-types",
    json: {
      type: "email.delivered",
      created_at: "2026-11-20T10:00:00.000Z",
      data: { email_id: "56761188", from: "a@example.test", to: ["zoe@example.test"], subject: "Hi" },
    },
  },
  {
    provider: "salesforce",
    source: "https://developer.salesforce.com/docs/atlas.en-us.api.meta/api/sforce_api_om_outboundmessaging_understanding.htm",
    type: "text/xml; charset=utf-8",
    config: { query_parameter: "k" },
    xml: soap,
    event: {
      OrganizationId: "00D000000000001",
      ActionId: "04k000000000001",
      SessionId: null,
      EnterpriseUrl: "https://x.my.salesforce.com/services/Soap/c/60.0",
      Notification: [{ Id: "04l000000000001", sObject: { "@type": "sf:Lead", Id: "00Q000000000001", Company: "Müller & Söhne" } }],
    },
    answer: "<Ack>true</Ack>",
  },
  {
    provider: "sanity",
    source: "https://www.sanity.io/docs/content-lake/webhooks",
    headers: { "idempotency-key": "k1", "sanity-operation": "create" },
    json: { _id: "doc1", _type: "post", title: "Hello" },
  },
  {
    provider: "segment",
    source: "https://segment.com/docs/connections/destinations/catalog/webhooks/",
    json: {
      type: "track",
      event: "Signed Up",
      messageId: "m1",
      userId: "u1",
      timestamp: "2026-11-20T10:00:00.000Z",
      properties: { plan: "pro" },
      context: {},
    },
  },
  {
    provider: "sendgrid",
    source: "https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/event",
    json: [
      { email: "zoe@example.test", timestamp: 1669651200, event: "delivered", sg_event_id: "ZGVs", sg_message_id: "14c5" },
      { email: "ada@example.test", timestamp: 1669651200, event: "open", sg_event_id: "b3Bl", sg_message_id: "14c5" },
    ],
  },
  {
    provider: "sentry",
    source: "https://docs.sentry.io/organization/integrations/integration-platform/webhooks/",
    headers: { "sentry-hook-resource": "issue", "request-id": "r1" },
    json: {
      action: "created",
      installation: { uuid: "a8e5d37a" },
      data: { issue: { id: "1", title: "Error" } },
      actor: { type: "application", id: "sentry", name: "Sentry" },
    },
  },
  {
    provider: "shopify",
    source: "https://shopify.dev/docs/apps/build/webhooks/subscribe/https",
    headers: {
      "x-shopify-topic": "orders/create",
      "x-shopify-shop-domain": "x.myshopify.com",
      "x-shopify-webhook-id": "w1",
      "x-shopify-event-id": "e1",
    },
    json: {
      id: 820982911946154,
      email: "zoe@example.test",
      created_at: "2026-11-20T10:00:00-05:00",
      line_items: [{ title: "Shirt", quantity: 1 }],
    },
  },
  {
    provider: "shopify",
    source: "https://shopify.dev/docs/api/admin-rest/latest/resources/webhook",
    headers: { "x-shopify-topic": "orders/create", "x-shopify-webhook-id": "w2" },
    type: "application/xml",
    xml: '<?xml version="1.0" encoding="UTF-8"?><order><id type="integer">820982911946154</id><email>zoe@example.test</email></order>',
    event: { id: { "@type": "integer", "#text": "820982911946154" }, email: "zoe@example.test" },
  },
  {
    provider: "shopify_events",
    source: "https://shopify.dev/docs/apps/build/events",
    headers: { "shopify-topic": "Product", "shopify-event-id": "e1" },
    json: { product: { id: "gid://shopify/Product/1", title: "Shirt" }, fields_changed: ["title"] },
  },
  {
    provider: "slack",
    source: "https://docs.slack.dev/apis/events-api/",
    json: {
      token: "t",
      team_id: "T1",
      api_app_id: "A1",
      type: "event_callback",
      event_id: "Ev1",
      event_time: 1234567890,
      event: { type: "message", text: "Hi" },
    },
    answer: "",
  },
  {
    provider: "slack",
    source: "https://docs.slack.dev/reference/interaction-payloads/block_actions-payload/",
    form: { payload: '{"type":"block_actions","user":{"id":"U1"},"actions":[{"action_id":"a1","value":"yes & no"}]}' },
    event: { type: "block_actions", user: { id: "U1" }, actions: [{ action_id: "a1", value: "yes & no" }] },
    answer: "",
  },
  {
    provider: "slack",
    source: "https://docs.slack.dev/interactivity/implementing-slash-commands/",
    form: {
      token: "t",
      team_id: "T1",
      command: "/weather",
      text: "94070",
      response_url: "https://hooks.slack.com/commands/1",
      trigger_id: "13345224609.738474920.8088930838",
    },
    answer: "",
  },
  {
    provider: "smartlead",
    source: "https://api.smartlead.ai/reference/webhooks",
    json: { event_type: "EMAIL_REPLY", campaign_id: 1, to_email: "zoe@example.test", secret_key: "$secret" },
    event: { event_type: "EMAIL_REPLY", campaign_id: 1, to_email: "zoe@example.test" },
  },
  {
    provider: "sparkpost",
    source: "https://developers.sparkpost.com/api/webhooks/",
    json: [
      {
        msys: { message_event: { type: "delivery", event_id: "92356927693813856", rcpt_to: "zoe@example.test", timestamp: "1454442600" } },
      },
    ],
  },
  {
    provider: "square",
    source: "https://developer.squareup.com/docs/webhooks/overview",
    json: {
      merchant_id: "M1",
      type: "payment.created",
      event_id: "6a8f5f28",
      created_at: "2026-11-20T10:00:00.000Z",
      data: { type: "payment", id: "p1", object: {} },
    },
  },
  {
    provider: "squarespace",
    source: "https://developers.squarespace.com/commerce-apis/webhook-subscriptions-overview",
    json: {
      id: "n1",
      websiteId: "w1",
      subscriptionId: "s1",
      topic: "order.create",
      createdOn: "2026-11-20T10:00:00.000Z",
      data: { orderId: "o1" },
    },
  },
  {
    provider: "standard_webhooks",
    source: "https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md",
    json: { type: "contact.created", timestamp: "2026-11-20T10:00:00.000Z", data: { id: "1f81eb52", first_name: "Zoe" } },
  },
  {
    provider: "stripe",
    source: "https://docs.stripe.com/webhooks",
    json: {
      id: "evt_1",
      object: "event",
      api_version: "2026-10-28",
      created: 1686089970,
      type: "setup_intent.created",
      livemode: false,
      data: { object: { id: "seti_1" } },
      pending_webhooks: 1,
    },
  },
  {
    provider: "stytch",
    source: "https://stytch.com/docs/workspace-management/webhooks/overview",
    json: {
      action: "CREATE",
      object_type: "user",
      source: "DIRECT",
      event_id: "event-live-1",
      project_id: "p1",
      timestamp: "2026-11-20T10:00:00Z",
      id: "user-1",
    },
  },
  {
    provider: "supabase",
    source: "https://supabase.com/docs/guides/auth/auth-hooks/send-email-hook",
    json: {
      user: { id: "8484b834", email: "zoe@example.test" },
      email_data: { token: "305805", email_action_type: "signup", redirect_to: "http://localhost" },
    },
  },
  {
    provider: "svix",
    source: "https://docs.svix.com/receiving/verifying-payloads/how",
    json: { type: "invoice.paid", data: { id: "i1" } },
  },
]
