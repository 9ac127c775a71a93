// Mail written by programs: the pipeline's event, the forward and the mark of each kind.
import { expect } from "chai"
import { Store } from "#core"
import { until } from "../../waiting.ts"
import { collectionNamed } from "../collection-named.ts"
import { listenForMail, type MailServer } from "../email/mail-server.ts"
import { message, onStores, type Receiving, startReceiving } from "./receiving.ts"

type Headers = Readonly<Record<string, string>>

const answering = { "In-Reply-To": "<ours@example.com>" }
const encoded = (subject: string) => `=?utf-8?B?${Buffer.from(subject).toString("base64")}?=`

const answers: Readonly<Record<string, Headers>> = {
  "X-Autoreply": { "X-Autoreply": "yes" },
  "X-Autorespond": { "X-Autorespond": "Thank you" },
  "Auto-Submitted with a comment": { "Auto-Submitted": "(vacation) auto-replied" },
  "Auto-Submitted with a parameter": { "Auto-Submitted": 'auto-replied; owner-email="a@x.test"' },
  "Precedence: auto_reply": { Precedence: "auto_reply" },
  "Exchange's absence note": { "X-Auto-Response-Suppress": "All", Subject: "Automatic reply: Your mail" },
  "Exchange's absence note, marked": { "Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All", ...answering },
  "an absence note behind a gateway": { Subject: "[EXT] Out of Office: back on Monday", ...answering },
  "Precedence: bulk and an absence": { Precedence: "bulk", Subject: "away from my mail" },
  "a failure of Exim": { "X-Failed-Recipients": "lead@elsewhere.test" },
  "a mailer daemon": { From: "MAILER-DAEMON@x.test" },
  "a receipt": { "Content-Type": "multipart/report; report-type=disposition-notification; boundary=b" },
  "a null return path below": { "Return-Path": "<>" },
  ...Object.fromEntries(
    [
      "Automatische Antwort: Angebot",
      "Réponse automatique : Devis",
      "Respuesta automática: Oferta",
      "Risposta automatica: Offerta",
      "Automatisch antwoord: Offerte",
      "Автоматический ответ: Предложение",
      "自動応答： 見積もり",
      "自动答复: 报价",
      "자동 회신: 견적",
      "Odpowiedź automatyczna: Oferta",
      "رد تلقائي: عرض",
    ].map((subject) => [subject, { Subject: encoded(subject) }]),
  ),
}
/** The event is created; `forward` states if the mail is also forwarded. */
const others: Readonly<Record<string, { headers: Headers; forward: boolean; automatic: boolean }>> = {
  "a list": { headers: { "List-Id": "<talk.lists.test>", Precedence: "list", ...answering }, forward: true, automatic: true },
  "an old list": { headers: { "List-Id": "<talk.lists.test>", Precedence: "bulk" }, forward: true, automatic: true },
  "a newsletter": { headers: { "Feedback-ID": "1:2:3:x", "List-Unsubscribe": "<https://x.test/u>" }, forward: false, automatic: true },
  "a notification": { headers: { "Auto-Submitted": "auto-generated" }, forward: false, automatic: true },
  "a request for no answer": { headers: { "X-Auto-Response-Suppress": "OOF, AutoReply" }, forward: true, automatic: true },
  "a request for no receipt": { headers: { "X-Auto-Response-Suppress": "DR, RN, NRN" }, forward: true, automatic: false },
  "Auto-Submitted: no": { headers: { "Auto-Submitted": "no", "X-Autoreply": "no" }, forward: true, automatic: false },
  "a person's answer to an absence note": {
    headers: { Subject: "Re: Automatic reply: Your mail", ...answering },
    forward: true,
    automatic: false,
  },
  "a person's subject": { headers: { Subject: "Out of office on Friday?" }, forward: true, automatic: false },
}

onStores("automatic mail", "embedded", ({ start }) => {
  let service: Receiving
  let mailbox: MailServer
  before(async () => {
    mailbox = await listenForMail()
    service = await startReceiving({
      start,
      settings: { forwards_per_minute_per_organization: 1_000 },
      others: { email: { transport: "smtp", url: mailbox.url, from: "no-reply@service.test" } },
    })
    await service.activate("example.com", { forward_to_email: "ada@mailboxes.test" })
    await service.host.api("POST", "/v1/event-pipelines", {
      name: "Keep",
      state: "active",
      source_kind: "inbound_email",
      pipeline: [
        { type: "dataset.write", dataset_slug: "kept", row: { mid: "{{ event.message_id }}", automatic: "{{ event.automatic }}" } },
      ],
    })
  })
  after(async () => {
    await mailbox.close()
    await service.dns.close()
  })

  const store = () =>
    service.host
      .get(Store)
      .open(
        collectionNamed<{ inbound: { automatic: boolean; forward: { state: string; reason: string } | null } }>(
          service.host,
          "email_messages",
        ),
        service.host.organization.id,
      )
  const send = async (key: string, headers: Headers) => {
    const id = `<${key}@x.test>`
    expect(await service.send("zoe@x.test", "hello@example.com", message({ From: "zoe@x.test", "Message-ID": id, ...headers }))).to.match(
      /^250 /,
    )
    return id
  }
  const inboundOf = (id: string) =>
    until(`the message ${id}`, async () => {
      const match = (await store().first({ message_id: id }))?.inbound
      return match && match.forward?.state !== "queued" ? match : undefined
    })
  const eventIds = async (count: number) =>
    until(`${count} events`, async () => {
      const { body } = await service.host.api<{ rows?: { values: { mid: string } }[] }>("GET", "/v1/datasets/kept/rows?limit=200")
      const rows = body.rows ?? []
      return rows.length >= count ? rows.map(({ values }) => values.mid) : undefined
    })

  it("makes no event and no forward of a program's answer, and keeps it in the conversation", async () => {
    const titles = Object.keys(answers)
    const ids = []
    for (const [n, title] of titles.entries()) ids.push(await send(`answer${n}`, answers[title] ?? {}))
    for (const [n, id] of ids.entries()) {
      const { automatic, forward } = await inboundOf(id)
      expect([titles[n], automatic, forward?.reason]).to.deep.equal([titles[n], true, "automatic"])
    }
    const last = await send("last", {})
    expect(await eventIds(1)).to.deep.equal([last])
  })

  it("makes an event of every other message, and forwards all but a program's", async () => {
    const before = (await eventIds(1)).length
    const ids: string[] = []
    for (const [n, { headers }] of Object.values(others).entries()) ids.push(await send(`other${n}`, headers))
    for (const [n, [title, { forward, automatic }]] of Object.entries(others).entries()) {
      const inbound = await inboundOf(ids[n] ?? "")
      expect([title, inbound.automatic, inbound.forward?.state]).to.deep.equal([title, automatic, forward ? "sent" : "skipped"])
    }
    expect(await eventIds(before + ids.length)).to.include.members(ids)
  })
})
