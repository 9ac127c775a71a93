// A lead of a page, from the form to the reply, and the effects of removing the domain's records from DNS.
import { expect } from "chai"
import { createTransport } from "nodemailer"
import { broadcastsOf } from "../../broadcasts.ts"
import { onBothStores } from "../../pipeline/stores.ts"
import { patiently, untilProcess as until } from "../../waiting.ts"
import { listenForMail, type MailServer } from "../email/mail-server.ts"
import { afterHourlyCheck, type Domain } from "../sending-domains/customer.ts"
import { type Receiving, startReceiving } from "./receiving.ts"

interface Read {
  readonly messages: { direction: string; subject: string; text: string; inbound: { forward: { state: string } | null } | null }[]
}

onBothStores("a lead of a page", ({ start }) => {
  let service: Receiving
  let mailbox: MailServer
  before(async () => {
    mailbox = await listenForMail()
    service = await startReceiving({ start, others: { email: { transport: "smtp", url: mailbox.url, from: "no-reply@service.test" } } })
  })
  after(async () => {
    await mailbox.close()
    await service.dns.close()
  })

  it("is written to from the organization's own domain, and its reply is kept and forwarded, until the domain fails", async () => {
    const { host, dns } = service
    const api = async <T>(method: string, path: string, body?: object) => {
      const answer = await patiently(() => host.api<T>(method, path, body))
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
      return answer.body
    }
    const path = "/v1/sending-domains/example.com"
    await service.activate("example.com", { from_local_part: "team", from_name: "Team", forward_to_email: "ada@mailboxes.test" })
    const page = await api<{ id: string; slug: string; url: string }>("POST", "/v1/pages", {
      title: "Lamps",
      variants: [{ key: "control", html: '<form><input name="email"></form>' }],
    })
    await api("POST", `/v1/pages/${page.slug}/publish`)
    await api("POST", "/v1/event-pipelines", {
      name: "Leads",
      state: "active",
      source_kind: "browser_form",
      auth_mode: "public_artifact",
      owner_artifact_id: page.id,
      pipeline: [
        { type: "dataset.write", dataset_slug: "leads", key: "email" },
        { type: "email.send", to: "{{ event.email }}", heading: "Your lamp" },
      ],
    })
    const submit = () =>
      patiently(async () =>
        fetch(new URL(page.url).pathname.replace(/^/, host.url), {
          method: "POST",
          body: new URLSearchParams({ email: "zoe@elsewhere.test" }),
          redirect: "manual",
        }),
      )
    expect((await submit()).status).to.equal(200)
    const mail = await until("the mail to the lead", () => mailbox.received[0])
    expect([mail.mail.from?.address, mail.recipients]).to.deep.equal(["team@example.com", ["zoe@elsewhere.test"]])
    expect(mail.raw).to.contain("DKIM-Signature")
    expect(mail.mail.replyTo).to.equal(undefined)

    const transport = createTransport({ host: "127.0.0.1", port: service.port, secure: false, ignoreTLS: true })
    await transport.sendMail({
      from: "Zoë <zoe@elsewhere.test>",
      to: mail.mail.from?.address ?? "",
      subject: "Re: Your lamp",
      text: "Please send it.",
      inReplyTo: mail.mail.messageId ?? "",
      references: mail.mail.messageId ?? "",
    })
    transport.close()
    const forwarded = await until("the forward", () => mailbox.received[1])
    expect([forwarded.mail.from?.address, forwarded.recipients]).to.deep.equal(["team@example.com", ["ada@mailboxes.test"]])
    expect([forwarded.mail.replyTo?.[0]?.address, forwarded.mail.subject]).to.deep.equal(["zoe@elsewhere.test", "Re: Your lamp"])
    const { messages } = await until("the conversation", async () => {
      const list = await api<{ conversations: { id: string }[] }>("GET", "/v1/email-conversations?address=zoe@elsewhere.test")
      const read = await api<Read>("GET", `/v1/email-conversations/${list.conversations[0]?.id}`)
      return read.messages[0]?.inbound?.forward?.state === "sent" ? read : undefined
    })
    expect(messages.map(({ direction, subject }) => `${direction} ${subject}`)).to.deep.equal([
      "inbound Re: Your lamp",
      "outbound Your lamp",
    ])

    const before = await api<Domain>("GET", path)
    expect([before.status, before.from_email]).to.deep.equal(["active", "team@example.com"])
    dns.set(before.dns_records[0]?.name ?? "", "TXT")
    for (let n = 0; n < 3; n++) await afterHourlyCheck(host, () => api<Domain>("GET", path))
    const failed = await api<Domain>("GET", path)
    expect([failed.status, failed.from_email]).to.deep.equal(["failed", ""])
    expect(failed.error_reason).to.contain("dkim")
    expect((await broadcastsOf(host, "sending_domains", 2)).map(({ event }) => event)).to.deep.equal(["active", "failed"])
    const count = mailbox.received.length
    expect((await submit()).status).to.equal(200)
    const after = await until("the next mail", () => mailbox.received[count])
    expect(after.mail.from?.address).to.equal("no-reply@service.test")
    expect(after.raw).to.not.contain("DKIM-Signature")
    expect(await service.send("zoe@elsewhere.test", "team@example.com", "Subject: Late\r\n\r\nHi\r\n")).to.match(/^550 /)
  })
})
