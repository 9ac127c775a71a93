import type { Delivered } from "./delivery.ts"

const changes = (field: string, value: object) => [{ id: "102290129340398", time: 1763640000, changes: [{ field, value }] }]

export const fromGToO: readonly Delivered[] = [
  {
    provider: "github",
    source: "https://docs.github.com/en/webhooks/webhook-events-and-payloads",
    headers: { "x-github-event": "star", "x-github-delivery": "d-1", "user-agent": "GitHub-Hookshot/1" },
    form: { payload: '{"action":"created","starred_at":"2026-11-20T10:00:00Z","sender":{"login":"zoe"}}' },
    event: { action: "created", starred_at: "2026-11-20T10:00:00Z", sender: { login: "zoe" } },
  },
  {
    provider: "gitlab",
    source: "https://docs.gitlab.com/user/project/integrations/webhook_events/",
    headers: { "x-gitlab-event": "Push Hook", "x-gitlab-event-uuid": "u-1", "idempotency-key": "k-1" },
    json: { object_kind: "push", event_name: "push", ref: "refs/heads/main", user_username: "zoe", commits: [] },
  },
  {
    provider: "gitlab_signing_token",
    source: "https://docs.gitlab.com/user/project/integrations/webhooks/",
    headers: { "x-gitlab-event": "Issue Hook" },
    json: { object_kind: "issue", event_type: "issue", object_attributes: { id: 301, title: "New API" } },
  },
  {
    provider: "google_ads_lead_form",
    source: "https://developers.google.com/google-ads/webhook/docs/implementation",
    json: {
      lead_id: "TeSter",
      user_column_data: [{ column_name: "Full Name", string_value: "Zoe", column_id: "FULL_NAME" }],
      api_version: "1.0",
      form_id: 1,
      campaign_id: 2,
      google_key: "$secret",
      is_test: true,
      gcl_id: "g",
    },
    // The event leaves the test mark out.
    event: {
      lead_id: "TeSter",
      user_column_data: [{ column_name: "Full Name", string_value: "Zoe", column_id: "FULL_NAME" }],
      api_version: "1.0",
      form_id: 1,
      campaign_id: 2,
      gcl_id: "g",
    },
  },
  {
    provider: "google_drive",
    source: "https://developers.google.com/drive/api/guides/push",
    headers: {
      "x-goog-channel-id": "4ba78bf0",
      "x-goog-message-number": "10",
      "x-goog-resource-id": "r1",
      "x-goog-resource-state": "update",
      "x-goog-changed": "content",
    },
    empty: true,
    event: {},
  },
  {
    provider: "help_scout",
    source: "https://developer.helpscout.com/webhooks/",
    headers: { "x-helpscout-event": "convo.created" },
    json: { id: 123, number: 11, subject: "Help", status: "active", primaryCustomer: { email: "zoe@example.test" } },
  },
  {
    provider: "hubspot_v1",
    source: "https://developers.hubspot.com/docs/api/webhooks",
    headers: { "x-hubspot-signature-version": "v1" },
    json: [
      {
        objectId: 1246965,
        propertyName: "lifecyclestage",
        propertyValue: "subscriber",
        eventId: 3816279340,
        subscriptionType: "contact.propertyChange",
        attemptNumber: 0,
      },
    ],
  },
  {
    provider: "hubspot_v2",
    source: "https://developers.hubspot.com/docs/api/webhooks/validating-requests",
    headers: { "x-hubspot-signature-version": "v2" },
    json: {
      callbackId: "ap-1",
      origin: { portalId: 1, actionDefinitionId: 2 },
      object: { objectId: 4, objectType: "CONTACT" },
      inputFields: { email: "zoe@example.test" },
    },
  },
  {
    provider: "hubspot_v3",
    source: "https://developers.hubspot.com/docs/api/webhooks/validating-requests",
    json: [
      {
        objectId: 1246978,
        eventId: 3816279480,
        subscriptionType: "contact.creation",
        portalId: 33,
        occurredAt: 1462216307945,
        attemptNumber: 0,
      },
    ],
  },
  {
    provider: "instantly",
    source: "https://developer.instantly.ai/webhook-events",
    json: {
      timestamp: "2026-11-20T10:00:00.000Z",
      event_type: "reply_received",
      workspace: "w1",
      campaign_id: "c1",
      lead_email: "zoe@example.test",
    },
  },
  {
    provider: "intercom",
    source: "https://developers.intercom.com/docs/references/webhooks/webhook-models",
    json: {
      type: "notification_event",
      app_id: "a1",
      data: { type: "notification_event_data", item: { type: "contact", id: "c1" } },
      id: "notif_1",
      topic: "contact.created",
      created_at: 1392731331,
    },
  },
  {
    provider: "jira",
    source: "https://developer.atlassian.com/cloud/jira/platform/webhooks/",
    headers: { "x-atlassian-webhook-identifier": "i-1" },
    json: {
      timestamp: 1525698237764,
      webhookEvent: "jira:issue_updated",
      user: { accountId: "a1" },
      issue: { id: "10001", key: "TEST-1", fields: { summary: "Hello" } },
    },
  },
  {
    provider: "jira_connect",
    source: "https://developer.atlassian.com/cloud/jira/platform/understanding-jwt-for-connect-apps/",
    json: { timestamp: 1525698237764, webhookEvent: "comment_created", comment: { id: "1", body: "Hi" } },
  },
  {
    provider: "jotform",
    source: "https://www.jotform.com/help/245-how-to-setup-a-webhook-with-jotform/",
    multipart: {
      action: "",
      webhookURL: "https://x.test",
      username: "zoe",
      formID: "240",
      type: "WEB",
      submissionID: "5912",
      rawRequest: '{"slug":"submit/240","q3_name":{"first":"Zoë","last":"M"},"q4_email":"zoe@example.test"}',
      pretty: "Name:Zoe",
    },
    event: {
      action: "",
      webhookURL: "https://x.test",
      username: "zoe",
      formID: "240",
      type: "WEB",
      submissionID: "5912",
      rawRequest: { slug: "submit/240", q3_name: { first: "Zoë", last: "M" }, q4_email: "zoe@example.test" },
      pretty: "Name:Zoe",
    },
  },
  {
    provider: "klaviyo",
    source: "https://developers.klaviyo.com/en/docs/working_with_system_webhooks",
    json: {
      meta: { timestamp: "2026-11-20T10:00:00+00:00", version: "2026-10-15" },
      data: [{ external_id: "e1", topic: "event:klaviyo.received_email", payload: { data: { type: "event", id: "i1" } } }],
    },
  },
  {
    provider: "lemon_squeezy",
    source: "https://docs.lemonsqueezy.com/help/webhooks/webhook-requests",
    headers: { "x-event-name": "order_created" },
    json: {
      meta: { event_name: "order_created", custom_data: { customer_id: 25 } },
      data: { type: "orders", id: "1", attributes: { user_email: "zoe@example.test" } },
    },
  },
  {
    provider: "linear",
    source: "https://linear.app/developers/webhooks",
    headers: { "linear-delivery": "234d1a4e", "linear-event": "Issue" },
    json: {
      action: "create",
      type: "Issue",
      createdAt: "2026-11-20T10:00:00.000Z",
      data: { id: "i1", title: "Hello" },
      organizationId: "o1",
      webhookTimestamp: "$milliseconds",
      webhookId: "w1",
    },
  },
  {
    provider: "linkedin",
    source: "https://learn.microsoft.com/en-us/linkedin/marketing/lead-sync/leadsync",
    json: {
      type: "LEAD_ACTION",
      leadGenFormResponse: "urn:li:leadGenFormResponse:1",
      leadAction: "CREATED",
      occurredAt: 1687202400000,
      leadType: "SPONSORED",
    },
  },
  {
    provider: "loops",
    source: "https://loops.so/docs/webhooks",
    json: {
      eventName: "contact.created",
      webhookSchemaVersion: "1.0.0",
      eventTime: 1734425918,
      contactIdentity: { id: "c1", email: "zoe@example.test" },
    },
  },
  {
    provider: "mailchimp",
    source: "https://mailchimp.com/developer/marketing/guides/sync-audience-data-webhooks/",
    form: {
      type: "subscribe",
      fired_at: "2026-11-20 10:00:00",
      "data[id]": "8a25ff1d98",
      "data[list_id]": "a6b5da1054",
      "data[email]": "zoe@example.test",
      "data[merges][FNAME]": "Zoe",
    },
  },
  {
    provider: "mailgun",
    source: "https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks",
    json: {
      signature: { timestamp: "$seconds", token: "a8ce0edb2dd8301dee6c2405235584e45aa91d1e9f979f3de0", signature: "$signature" },
      "event-data": { event: "opened", id: "e-1", recipient: "zoe@example.test" },
    },
  },
  {
    provider: "mandrill",
    source: "https://mailchimp.com/developer/transactional/guides/track-respond-activity-webhooks/",
    form: { mandrill_events: '[{"event":"send","ts":1365109999,"_id":"exampleaaa","msg":{"email":"zoe@example.test","state":"sent"}}]' },
    event: { mandrill_events: [{ event: "send", ts: 1365109999, _id: "exampleaaa", msg: { email: "zoe@example.test", state: "sent" } }] },
  },
  {
    provider: "messagebird",
    source: "https://developers.messagebird.com/api/sms-messaging/#handle-a-status-report",
    get: { id: "e8077d80", recipient: "31612345678", status: "delivered", statusDatetime: "2026-11-20T10:00:00+00:00" },
  },
  {
    provider: "meta_lead_ads",
    source: "https://developers.facebook.com/docs/marketing-api/guides/lead-ads/retrieving/",
    json: {
      object: "page",
      entry: changes("leadgen", { ad_id: "0", form_id: "12", leadgen_id: "444444444444", created_time: 1763640000, page_id: "444" }),
    },
  },
  {
    provider: "meta_whatsapp",
    source: "https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages/text",
    json: {
      object: "whatsapp_business_account",
      entry: changes("messages", {
        messaging_product: "whatsapp",
        metadata: { display_phone_number: "15550783881", phone_number_id: "106" },
        contacts: [{ profile: { name: "Zoe" }, wa_id: "16505551234" }],
        messages: [{ from: "16505551234", id: "wamid.HBgL", timestamp: "1749416383", type: "text", text: { body: "Hi" } }],
      }),
    },
  },
  {
    provider: "microsoft_graph",
    source: "https://learn.microsoft.com/en-us/graph/change-notifications-delivery-webhooks",
    json: {
      value: [
        { id: "n1", subscriptionId: "s1", clientState: "$secret", changeType: "created", resource: "users/u1/messages/m1", tenantId: "t1" },
      ],
    },
    event: { value: [{ id: "n1", subscriptionId: "s1", changeType: "created", resource: "users/u1/messages/m1", tenantId: "t1" }] },
  },
  {
    provider: "monday",
    source: "https://developer.monday.com/api-reference/reference/webhooks",
    json: {
      event: {
        userId: 9603417,
        boardId: 1771812698,
        pulseId: 1772099344,
        pulseName: "Create_item webhook",
        type: "create_pulse",
        subscriptionId: 73759690,
        triggerUuid: "b5ed",
      },
    },
  },
  {
    provider: "mux",
    source: "https://www.mux.com/docs/core/listen-for-webhooks",
    json: {
      type: "video.asset.ready",
      id: "3a56ac3d",
      created_at: "2026-11-20T10:00:00.000000Z",
      object: { type: "asset", id: "0201p02" },
      environment: { name: "Prod", id: "e1" },
      data: { status: "ready" },
    },
  },
  {
    provider: "netlify",
    source: "https://docs.netlify.com/site-deploys/notifications/",
    headers: { "x-netlify-event": "deploy_created" },
    json: { id: "d1", site_id: "s1", state: "ready", name: "site", url: "https://site.netlify.app", branch: "main" },
  },
  {
    provider: "notion",
    source: "https://developers.notion.com/reference/webhooks",
    json: {
      id: "1782edd6",
      timestamp: "2026-11-20T10:00:00.000Z",
      workspace_id: "w1",
      subscription_id: "s1",
      type: "page.created",
      entity: { id: "p1", type: "page" },
      attempt_number: 1,
    },
  },
  {
    provider: "openai",
    source: "https://platform.openai.com/docs/guides/webhooks",
    json: { object: "event", id: "evt_1", type: "response.completed", created_at: 1750287018, data: { id: "resp_1" } },
  },
]
