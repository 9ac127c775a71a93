// Mail beside messages without an answer of the mail server. No deadline expires in these tests.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { until } from "../../waiting.ts"
import { listenForMail, type MailServer } from "./mail-server.ts"

const isSilent = (recipient: string | undefined) => recipient?.startsWith("silent") ?? false

describe("mail beside a silent mail server", () => {
  for (const [stage, server] of [
    ["the end of DATA", () => listenForMail(() => undefined, { isSilent: ([recipient]) => isSilent(recipient) })],
    ["RCPT", () => listenForMail((recipient) => (isSilent(recipient) ? new Promise(() => {}) : undefined))],
  ] as const) {
    describe(`at ${stage}`, () => {
      let mail: MailServer
      let host: TestHost
      let inbound_url: string
      before(async () => {
        mail = await server()
        host = await testHost({
          capture: false,
          env: {
            MILLRACE_PLUGINS_SETTINGS: JSON.stringify({ email: { transport: "smtp", url: mail.url } }),

            MILLRACE_SERVER_DRAIN_MS: "100",
          },
        })
        const step = { type: "email.send", to: "{{ event.to }}", heading: "Hello", timeout_ms: 600_000 }
        const document = { name: "Mail", state: "active", auth_mode: "none", pipeline: [step] }
        const { body } = await host.api<{ inbound_url: string }>("POST", "/v1/event-pipelines", document)
        inbound_url = body.inbound_url
      })
      after(async () => {
        await mail.close()
        await host.stop()
      })

      for (const [silent, domain] of [
        [4, "example.net"],
        [8, "example.net"],
        [40, "silent.example.com"],
      ] as const) {
        it(`sends other mail while ${silent} more messages to ${domain} hang`, async () => {
          mail.received.length = 0
          const send = (to: string) => host.send({ inbound_url }, { to })
          await Promise.all(Array.from({ length: silent }, (_, n) => send(`silent-${n}@${domain}`)))
          await Promise.all(Array.from({ length: 20 }, (_, n) => send(`ada-${n}@example.net`)))
          await until("20 mails", () => mail.received.length === 20)
        })
      }

      it("shows the silence in metrics", async () => {
        const metrics = await (await fetch(`${host.url}/metrics`)).text()
        const line = metrics.split("\n").find((value) => value.startsWith('millrace_destination_silent_seconds{kind="mail"'))
        expect(Number(line?.split(" ").at(-1))).to.be.above(0)
      })
    })
  }
})
