// Files of received mail: downloads by expiring links, with hostile content.
import { createHash } from "node:crypto"
import { expect } from "chai"
import { MailFilesToken } from "../../../plugins/people/inbound-mail/files/files.ts"
import { failureOf } from "../../refusal.ts"
import { patiently, until } from "../../waiting.ts"
import { message, onStores, otherOrganization, type Receiving, startReceiving } from "./receiving.ts"

interface File {
  readonly kind: string
  readonly filename: string
  readonly media_type: string
  readonly size: number
  readonly url: string
}
interface Refused {
  readonly details: { readonly reason: string }
}

const bytes = Buffer.from(Array.from({ length: 5_000 }, (_, at) => (at * 7) % 256))
const hash = (data: Uint8Array) => createHash("sha256").update(data).digest("hex")
const part = (headers: string, body: string) => `--b\r\n${headers}\r\n\r\n${body}\r\n`
const mixed = [
  part("Content-Type: text/plain", "See the files."),
  part(
    'Content-Type: text/html\r\nContent-Transfer-Encoding: base64\r\nContent-Disposition: attachment; filename="..\\\\evil\\"\u00e4.html"',
    bytes.toString("base64").replace(/.{76}/g, "$&\r\n"),
  ),
  part("Content-Type: image/svg+xml\r\nContent-Disposition: inline", "<svg onload='alert(1)'/>"),
  "--b--\r\n",
].join("")

onStores("files of received mail", "embedded", ({ start }) => {
  let service: Receiving
  before(async () => {
    service = await startReceiving({ start, settings: { keep_raw_days: 2 } })
    await service.activate("example.com")
  })
  after(() => service.dns.close())

  const api = <T>(at: string, key?: string) => patiently(() => service.host.api<T>("GET", at, undefined, key ? { key } : {}))
  const received = async (address: string, text: string) => {
    await service.send(address, "hello@example.com", text)
    return until("the message", async () => {
      const { body } = await api<{ conversations: { id: string }[] }>(`/v1/email-conversations?address=${address}`)
      const [conversation] = body.conversations
      if (!conversation) return undefined
      const read = await api<{ messages: { id: string }[] }>(`/v1/email-conversations/${conversation.id}`)
      return `/v1/email-conversations/${conversation.id}/messages/${read.body.messages[0]?.id}/files`
    })
  }
  const filesOf = async (path: string) => (await api<{ files: File[] }>(path)).body.files
  const reasonOf = async (response: Response) => ((await response.json()) as Refused).details.reason
  const headers = { From: "lead@elsewhere.test", "MIME-Version": "1.0", "Content-Type": 'multipart/mixed; boundary="b"' }

  it("are downloads, whole, that a browser neither shows nor takes for what their author says", async () => {
    const path = await received("lead@elsewhere.test", message(headers, mixed))
    const files = await filesOf(path)
    expect(files.map(({ kind, media_type }) => [kind, media_type])).to.deep.equal([
      ["message", "message/rfc822"],
      ["attachment", "text/html"],
      ["attachment", "image/svg+xml"],
    ])
    const [whole, html, svg] = await Promise.all(files.map(({ url }) => fetch(url)))
    for (const response of [whole, html, svg]) {
      expect(response?.status).to.equal(200)
      expect(response?.headers.get("content-disposition")).to.match(/^attachment; filename="[^"\\%/]+"; filename\*=UTF-8''[\w.%-]+$/)
      expect(response?.headers.get("x-content-type-options")).to.equal("nosniff")
      expect(response?.headers.get("content-security-policy")).to.equal("default-src 'none'; sandbox")
      expect(response?.headers.get("cache-control")).to.equal("private, no-store")
    }
    expect(whole?.headers.get("content-type")).to.equal("message/rfc822")
    expect(await whole?.text())
      .to.include("See the files.")
      .and.include("Subject: Hello")
    expect(html?.headers.get("content-type")).to.equal("application/octet-stream")
    expect(hash((await html?.bytes()) ?? bytes.subarray(1))).to.equal(hash(bytes))
    expect(svg?.headers.get("content-type")).to.equal("application/octet-stream")
    expect(await svg?.text()).to.include("<svg")
  })

  it("are behind the organization's wall, and their links name one file for a quarter of an hour", async () => {
    const path = await received("second@elsewhere.test", message({ ...headers, From: "second@elsewhere.test" }, mixed))
    const files = await filesOf(path)
    const stranger = await otherOrganization(service.host, "stranger")
    const denied = await api<Refused>(path, stranger.key)
    expect([denied.status, denied.body.details.reason]).to.deep.equal([404, "email_message_not_found"])
    const [whole = "", html = ""] = files.map(({ url }) => url)
    expect(await reasonOf(await fetch(html.replace(/\/1\?/, "/2?").replace(/\/0\?/, "/1?")))).to.equal("invalid_signature")
    expect(await reasonOf(await fetch(whole.replace(service.host.organization.id, stranger.id)))).to.equal("invalid_signature")
    expect(await reasonOf(await fetch(whole.replace(/expires=\d/, "expires=9")))).to.equal("invalid_signature")
    service.host.clock.move(901_000)
    expect(await reasonOf(await fetch(whole))).to.equal("link_expired")
  })

  it("go with the message as it came, and answer 503 beyond what may be read at once", async () => {
    const path = await received("third@elsewhere.test", message({ ...headers, From: "third@elsewhere.test" }, mixed))
    const mail = /messages\/([\w-]+)\//.exec(path)?.[1] ?? ""
    const reader = service.host.get(MailFilesToken)
    const file = { organization: service.host.organization.id, mail, part: "0" }
    const reads = await Promise.allSettled(Array.from({ length: 10 }, () => reader.read(file)))
    const refused = reads.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason.details.reason] : []))
    expect(refused).to.deep.equal(["email_files_busy", "email_files_busy"])
    expect((await failureOf(reader.read({ ...file, part: "7" }))).details).to.include({ reason: "email_file_not_found" })
    service.host.clock.move(3 * 86_400_000)
    await until("the files being gone", async () => (await filesOf(path)).length === 0)
    await until("the message as it came being removed", async () =>
      reader.read({ ...file, part: "message" }).then(
        () => false,
        ({ details }) => details.reason === "email_file_not_found",
      ),
    )
  })
})
