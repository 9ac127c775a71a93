// Signed requests that providers and their libraries publish, as facts: each verifies as it stands. `millrace pipelines
// verify --self-test` judges them all.

export interface PublishedVector {
  readonly provider: string
  /** Where it is published. */
  readonly source: string
  readonly url: string
  readonly secret: string
  readonly request: {
    readonly method?: string
    readonly url?: string
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
  }
  /** Seconds since the epoch at which it is to be judged; 0 where no time is signed. */
  readonly now_s: number
}

export const publishedVectors: readonly PublishedVector[] = [
  {
    provider: "standard_webhooks",
    source: "Standard Webhooks, reference libraries",
    url: "https://github.com/standard-webhooks/standard-webhooks",
    secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    request: {
      headers: {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
      },
      body: '{"test": 2432232314}',
    },
    now_s: 1614265330,
  },
  {
    provider: "github",
    source: "GitHub Docs, Validating webhook deliveries",
    url: "https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries",
    secret: "It's a Secret to Everybody",
    request: {
      headers: { "x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17" },
      body: "Hello, World!",
    },
    now_s: 0,
  },
  {
    provider: "slack",
    source: "Slack, Verifying requests from Slack",
    url: "https://docs.slack.dev/authentication/verifying-requests-from-slack",
    secret: "8f742231b10e8888abcd99yyyzzz85a5",
    request: {
      headers: {
        "x-slack-request-timestamp": "1531420618",
        "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
      },
      body: "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
    },
    now_s: 1531420618,
  },
  {
    provider: "twilio",
    source: "Twilio Docs, Webhooks security",
    url: "https://www.twilio.com/docs/usage/webhooks/webhooks-security",
    secret: "12345",
    request: {
      method: "POST",
      url: "https://mycompany.com/myapp.php?foo=1&bar=2",
      headers: { "content-type": "application/x-www-form-urlencoded", "x-twilio-signature": "RSOYDt4T1cUTdK1PDd93/VVr8B8=" },
      body: "CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234&From=%2B14158675309&To=%2B18005551212",
    },
    now_s: 0,
  },
  {
    provider: "sendgrid",
    source: "sendgrid-python, test_eventwebhook.py",
    url: "https://github.com/sendgrid/sendgrid-python",
    secret: "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==",
    request: {
      headers: {
        "x-twilio-email-event-webhook-timestamp": "1600112502",
        "x-twilio-email-event-webhook-signature":
          "MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM=",
      },
      body: '[{"email":"hello@world.com","event":"dropped","reason":"Bounced Address","sg_event_id":"ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA","sg_message_id":"LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0","smtp-id":"<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>","timestamp":1600112492}]\r\n',
    },
    now_s: 1600112502,
  },
  {
    provider: "svix",
    source: "Svix Docs, Verifying webhooks manually",
    url: "https://docs.svix.com/receiving/verifying-payloads/how-manual",
    secret: "whsec_plJ3nmyCDGBKInavdOK15jsl",
    request: {
      headers: {
        "svix-id": "msg_loFOjxBNrRLzqYUf",
        "svix-timestamp": "1731705121",
        "svix-signature": "v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=",
      },
      body: '{"event_type":"ping","data":{"success":true}}',
    },
    now_s: 1731705121,
  },
]
