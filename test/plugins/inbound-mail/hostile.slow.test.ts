// Harmful mail: an unparsable message is stored with its headers only, and the service continues.
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { connect as connectTls } from "node:tls"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { untilProcess as until } from "../../waiting.ts"
import { selfSigned } from "../inbound-auth/certificate.ts"
import { message, type Receiving, startReceiving } from "./receiving.ts"
import { SmtpClient } from "./smtp-client.ts"

interface Message {
  readonly message_id: string
  readonly subject: string
  readonly text: string
  readonly from: { name: string; address: string }
  readonly attachments: { filename: string; media_type: string }[]
  readonly inbound: {
    problem: string
    forward: { reason: string } | null
    authentication: { dkim: string; dmarc: string; header: string }
  } | null
}

const lead = "lead@elsewhere.test"
const team = "team@example.com"

/** Nested parts. */
function nested(depth: number): string {
  const begin = (n: number) => `Content-Type: multipart/mixed; boundary="b${n}"\r\n\r\n--b${n}\r\n`
  return Array.from({ length: depth }, (_, n) => begin(n)).join("")
}

describe("hostile mail", () => {
  let host: TestHost
  let service: Receiving
  let folder: string
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "millrace-tls-"))
    const { pem, key } = selfSigned(new Date("2020-01-01"), new Date("2100-01-01"))
    writeFileSync(join(folder, "cert.pem"), pem)
    writeFileSync(join(folder, "key.pem"), key.export({ type: "pkcs8", format: "pem" }))
    service = await startReceiving({
      start: async (options) => {
        host = await testHost({ capture: false, ...options })
        return host
      },
      settings: {
        tls: { cert_file: join(folder, "cert.pem"), key_file: join(folder, "key.pem") },
        forwards_per_minute_per_organization: 3,
      },
    })
    await service.activate("example.com")
  })
  after(async () => {
    await host.stop()
    await service.dns.close()
    rmSync(folder, { recursive: true })
  })

  let drawn = 0
  /** Delivers a message and returns its stored form. */
  const became = async (headers: Record<string, string>, body?: string, from = `h${++drawn}@x.test`): Promise<Message> => {
    expect(await service.send(from, team, message({ From: from, "Message-ID": `<${drawn}@x.test>`, ...headers }, body))).to.match(/^250 /)
    return until(`the message of ${from}`, async () => {
      const { body: list } = await host.api<{ conversations: { id: string }[] }>("GET", `/v1/email-conversations?address=${from}`)
      const [conversation] = list.conversations
      return conversation && (await host.api<{ messages: Message[] }>("GET", `/v1/email-conversations/${conversation.id}`)).body.messages[0]
    })
  }

  it("of parts within parts, of very many parts, or of very many headers is kept by its headers", async () => {
    const deep = await became(
      { Subject: "Deep", "MIME-Version": "1.0", "Content-Type": 'multipart/mixed; boundary="b"' },
      `--b\r\n${nested(2_000)}`,
    )
    expect([deep.subject, deep.text, deep.inbound?.problem]).to.deep.equal(["Deep", "", "too_complex"])
    const many = await became({ Subject: "Many", "Content-Type": 'multipart/mixed; boundary="b"' }, "--b\r\n\r\nx\r\n".repeat(50_000))
    expect([many.subject, many.inbound?.problem]).to.deep.equal(["Many", "too_complex"])
    const part = '--b\r\nContent-Type: application/x; name="a"\r\n\r\nx\r\n'
    const files = await became({ Subject: "Files", "Content-Type": 'multipart/mixed; boundary="b"' }, part.repeat(300))
    expect([files.attachments.length, files.inbound?.problem]).to.deep.equal([0, "too_complex"])
    const letters = "Content-Type: message/rfc822\r\n\r\nSubject: x\r\n".repeat(500)
    expect((await became({ Subject: "Letters" }, "").then(() => became({ Subject: "Nested" }, letters))).subject).to.equal("Nested")
    const wide = await became(Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`X-${n}`, "x"])))
    expect(wide.inbound?.problem).to.equal("")
    expect(await service.send(lead, team, `X-Long: ${"x".repeat(300_000)}\r\n${message({})}`)).to.match(/^554 5\.6\.0 /)
  })

  it("of broken encodings is read as far as it can be", async () => {
    for (const [headers, body, text] of [
      [{ "Content-Type": "text/plain; charset=x-nothing" }, "caf\u00e9", "caf"],
      [{ "Content-Type": "text/plain", "Content-Transfer-Encoding": "base64" }, "!!!!not base64", ""],
      [{ "Content-Type": "text/plain; charset=utf-16" }, "a\0b\0c", ""],
      [{ "Content-Type": "text/plain; charset=utf-8", "Content-Transfer-Encoding": "quoted-printable" }, "=ZZ=00=FF=ED=A0=80ok", "ok"],
      [{ "Content-Type": 'multipart/mixed; boundary=""' }, "no boundary", ""],
      [{ "Content-Type": ";;;;=" }, "nothing", ""],
    ] as const) {
      const read = await became(headers, `${body}\r\n`)
      expect(read.inbound?.problem, JSON.stringify(headers)).to.equal("")
      expect(read.text).to.contain(text)
      expect(read.text).to.not.match(/\0|\p{Cs}/u)
    }
    const html = await became({ "Content-Type": "text/html" }, "<script>alert(1)</script><p>Hello <b>you</b></p>\r\n")
    expect(html.text).to.equal("Hello you")
    const deep = await became({ "Content-Type": "text/html" }, `${"<div>".repeat(50_000)}Deep\r\n`)
    expect([deep.text, deep.inbound?.problem]).to.deep.equal(["Deep", ""])
    const wide = await became({ "Content-Type": "text/html" }, `${"<p>".repeat(150_000)}Wide\r\n`)
    expect([wide.text, wide.inbound?.problem]).to.deep.equal(["Wide", ""])
  })

  it("of headers that would begin others, or hide who wrote, shows them as one line", async () => {
    const read = await became(
      {
        Subject: "=?utf-8?b?SGVsbG8NCkJjYzogZXZlQGV2aWwudGVzdA0KDQpib2R5?= \u202etxet",
        "Content-Type": "multipart/mixed; boundary=b",
      },
      '--b\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename="../../etc/passwd"\r\n\r\nx\r\n--b--\r\n',
    )
    expect(read.subject).to.not.match(/[\r\n]/)
    expect(read.attachments[0]?.filename).to.equal(".._.._etc_passwd")
    const two = await became({ From: "a@one.test, b@two.test" }, "Hi\r\n", "a@one.test")
    expect(two.inbound?.authentication.dmarc).to.equal("fail")
  })

  it("of very many signatures costs a bounded number of questions to DNS", async () => {
    const signature = (n: number) => `DKIM-Signature: v=1; a=rsa-sha256; d=d${n}.test; s=s; h=from; bh=AAAA; b=AAAA\r\n`
    const requestCount = service.dns.asked.length
    const from = `signed${++drawn}@x.test`
    const raw = Array.from({ length: 1_000 }, (_, n) => signature(n)).join("") + message({ From: from, "Message-ID": "<signed@x.test>" })
    expect(await service.send(from, team, raw)).to.match(/^250 /)
    await until("the message", async () => {
      const { body } = await host.api<{ conversations: unknown[] }>("GET", `/v1/email-conversations?address=${from}`)
      return body.conversations.length > 0
    })
    expect(service.dns.asked.length - requestCount).to.be.at.most(50)
  })

  it("in a flood is kept, and not passed on as one", async () => {
    await host.api("PATCH", "/v1/sending-domains/example.com", { forward_to_email: "ada@mailboxes.test" })
    const reasons: string[] = []
    for (let n = 0; n < 8; n++) reasons.push((await became({})).inbound?.forward?.reason ?? "")
    await host.api("PATCH", "/v1/sending-domains/example.com", { forward_to_email: "" })
    expect(reasons.slice(0, 3)).to.deep.equal(["", "", ""])
    expect(reasons).to.include("too_many")
  })

  it("finds no command that relays, tells who exists, or takes a password", async () => {
    const client = await SmtpClient.open(service.port)
    for (const [command, status] of [
      ["AUTH PLAIN AGEAYg==", "5"],
      ["VRFY team", "252"],
      ["EXPN team", "5"],
      ["XCLIENT ADDR=10.0.0.1", "5"],
      ["MAIL FROM:<lead@elsewhere.test>", "250"],
      ["RCPT TO:<@example.com:x@other.com>", "5"],
      ["RCPT TO:<x@other.com@example.com>", "5"],
      ['RCPT TO:<"x@other.com"@other.com>', "5"],
      ["RCPT TO:<team@example.com >", ""],
      ["RCPT TO:<team@EXAMPLE.com>", "250"],
    ] as const) {
      const reply = await client.say(command)
      expect([command, reply.startsWith(status)], reply).to.deep.equal([command, true])
    }
    client.close()
    const long = await SmtpClient.open(service.port)
    long.write("A".repeat(70_000))
    expect(await long.reply()).to.match(/^421 |closed/)
  })

  it("comes over TLS where the client asks, and nothing said before TLS counts after it", async () => {
    const client = await SmtpClient.open(service.port)
    client.write("STARTTLS\r\nMAIL FROM:<before@tls.test>\r\nRCPT TO:<team@example.com>\r\n")
    expect(await client.reply()).to.match(/^220 /)
    client.socket.removeAllListeners("data")
    const secure = connectTls({ socket: client.socket, rejectUnauthorized: false })
    const answered = new Promise<string>((resolve) => {
      secure.setEncoding("utf8").on("data", (text: string) => text.includes("\r\n") && resolve(text))
      secure.on("error", () => resolve("refused"))
      secure.on("close", () => resolve("refused"))
      secure.on("secureConnect", () => secure.write("DATA\r\n"))
    })
    expect(await answered).to.match(/^503 |refused/)
    secure.destroy()
  })

  it("is offered the certificate that its file holds now", async () => {
    const smtpGreeting = async () => {
      const client = await SmtpClient.open(service.port)
      await client.say("STARTTLS")
      client.socket.removeAllListeners("data")
      const secure = connectTls({ socket: client.socket, rejectUnauthorized: false })
      await once(secure, "secureConnect")
      const { fingerprint256 } = secure.getPeerCertificate()
      secure.destroy()
      return fingerprint256
    }
    const before = await smtpGreeting()
    const { pem, key } = selfSigned(new Date("2020-01-01"), new Date("2100-01-01"))
    writeFileSync(join(folder, "cert.pem"), pem)
    host.clock.move(3_600_000)
    expect(await smtpGreeting(), "a certificate without its key").to.equal(before)
    writeFileSync(join(folder, "key.pem"), key.export({ type: "pkcs8", format: "pem" }))
    host.clock.move(3_600_000)
    expect(await smtpGreeting()).to.not.equal(before)
  })
})
