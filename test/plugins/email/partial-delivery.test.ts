// A message to several recipients, some of them postponed by the mail server. Each recipient receives it exactly once.
import { expect } from "chai"
import { onBothStores } from "../../pipeline/stores.ts"
import { patiently, until } from "../../waiting.ts"
import { pluginSettings } from "../buckets/stores.ts"
import { listenForMail, type MailServer } from "./mail-server.ts"

onBothStores("email to several recipients", ({ start }) => {
  let mailbox: MailServer
  after(() => mailbox.close())

  it("is retried for those whom the server put off, and for none who has it", async () => {
    const answers: Record<string, string | undefined> = { busy: "451 4.7.1 greylisted", gone: "550 5.7.1 no" }
    let requestCount = 0
    mailbox = await listenForMail((recipient) => {
      if (recipient.startsWith("busy")) requestCount++
      return answers[recipient.split("@")[0] ?? ""]
    })
    const host = await start({ env: pluginSettings({ email: { transport: "smtp", url: mailbox.url } }) })
    // The test decides when the second try is due.
    host.clock.set(host.clock.now())
    const response = await patiently(() =>
      host.api<{ slug: string; inbound_url: string }>("POST", "/v1/event-pipelines", {
        name: "Tell",
        state: "active",
        auth_mode: "none",
        pipeline: [{ id: "tell", type: "email.send", to: "Ada@example.com, busy@example.com", bcc: ["gone@example.com"], heading: "News" }],
      }),
    )
    const { body } = await patiently(() => host.send<{ execution_id: string }>(response.body, {}))
    interface Step {
      readonly state: string
      readonly attempts: number
      readonly error: { message: string } | null
      readonly result: { accepted: string[]; rejected: string[] } | null
    }
    const step = async () => {
      const at = `/v1/event-pipelines/${response.body.slug}/executions/${body.execution_id}`
      return (await patiently(() => host.api<{ steps: Record<string, Step> }>("GET", at))).body.steps["tell"]
    }
    const first = await until("the first try", async () => {
      const now = await step()
      return now?.error ? now : undefined
    })
    expect(first.error?.message).to.contain("took the message for 1 of 3 recipients").and.contain("451 4.7.1 greylisted")
    answers["busy"] = undefined
    const finished = async () => {
      // The second try would time out or lose its lease by the moved clock.
      if (requestCount < 2) host.clock.move(5_000)
      const now = await step()
      return now?.state === "done" ? now : undefined
    }
    const finalStep = await until("the step", finished, { everyMs: 200 })
    expect(finalStep.result).to.deep.include({ accepted: ["Ada@example.com", "busy@example.com"], rejected: ["gone@example.com"] })
    expect(mailbox.received.map(({ recipients }) => recipients)).to.deep.equal([["Ada@example.com"], ["busy@example.com"]])
    const [mail, second] = mailbox.received
    expect(second?.mail.messageId).to.equal(mail?.mail.messageId)
    expect(second?.mail.to?.map(({ address }) => address)).to.deep.equal(["Ada@example.com", "busy@example.com"])
  })
})
