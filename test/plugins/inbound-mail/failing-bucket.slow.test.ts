// Mail that arrives while its bucket, a real S3 server, is unreachable or silent. The sender receives a temporary refusal and the
// message is not stored.
// Accepted messages are stored once.
import { expect } from "chai"
import { Store } from "#core"
import { testHost } from "#core/testing"
import { patiently, untilProcess as until } from "../../waiting.ts"
import { type S3Server, s3Available, startS3 } from "../buckets/s3-server.ts"
import { collectionNamed } from "../collection-named.ts"
import { message, otherOrganization, type Receiving, startReceiving } from "./receiving.ts"

const lead = "lead@elsewhere.test"
const both = ["hello@example.com", "hello@example.net"]

const onS3 = s3Available ? describe : describe.skip
onS3("mail while the bucket fails", () => {
  let s3: S3Server
  let service: Receiving
  let other: { id: string; key: string }
  before(async () => {
    s3 = await startS3()
    const buckets = { s3: { ...s3.settings, timeout_ms: 1_000 } }
    service = await startReceiving({ start: (options) => testHost({ capture: false, ...options }), others: { buckets } })
    other = await otherOrganization(service.host, "other")
    await service.activate("example.com")
    await service.activate("example.net", {}, other.key)
  })
  after(async () => {
    await service.host.stop()
    await service.dns.close()
    await s3.stop()
  })

  const send = (id: string) => service.send(lead, both, message({ "Message-ID": `<${id}@elsewhere.test>` }, `Said once: ${id}.\r\n`))
  /** Sends again after a temporary refusal, as senders do: on a busy machine the bucket may exceed its deadline. */
  const take = (id: string) => until(`${id} being taken`, async () => /^250 /.test(await send(id)))
  const organizations = () => [service.host.organization.id, other.id]
  const keptOf = async (organization: string) =>
    (await service.host.get(Store).open(collectionNamed(service.host, "inbound_mails"), organization).find({}, { limit: 100 })).length
  const storedCounts = () => Promise.all(organizations().map(keptOf))
  const saidTo = async (key: string) => {
    const { host } = service
    const read = <T>(path: string) => patiently(() => host.api<T>("GET", path, undefined, { key }))
    const { conversations } = (await read<{ conversations: { id: string }[] }>("/v1/email-conversations")).body
    const texts: string[] = []
    for (const { id } of conversations) {
      const { messages } = (await read<{ messages: { text: string }[] }>(`/v1/email-conversations/${id}`)).body
      texts.push(...messages.map(({ text }) => text.trim()))
    }
    return texts.sort()
  }
  const whenStored = (...ids: string[]) =>
    until(`what was said: ${ids.join(", ")}`, async () => {
      const matches = await Promise.all([service.host.adminKey, other.key].map(saidTo))
      const expected = ids.map((id) => `Said once: ${id}.`).sort()
      return matches.every((texts) => JSON.stringify(texts) === JSON.stringify(expected))
    })

  const failures: Record<string, [begin: () => Promise<void>, end: () => Promise<void>]> = {
    gone: [() => s3.kill(), () => s3.again()],
    silent: [async () => s3.hold(true), async () => s3.hold(false)],
  }
  const acceptedIds: string[] = []
  for (const [how, [begin, end]] of Object.entries(failures)) {
    it(`is put off where it is ${how}, and taken once by each organization afterwards`, async () => {
      const count = acceptedIds.length
      await begin()
      expect(await send(how)).to.match(/^451 4\.3\.0 /)
      expect(await send(how), "again").to.match(/^451 4\.3\.0 /)
      expect(await storedCounts()).to.deep.equal([count, count])
      await end()
      await take(how)
      await take(how)
      acceptedIds.push(how)
      await whenStored(...acceptedIds)
      expect(await storedCounts()).to.deep.equal([acceptedIds.length, acceptedIds.length])
    })

    it(`is not lost where it was taken just before the bucket is ${how}`, async () => {
      const id = `before-${how}`
      await take(id)
      await begin()
      expect(await send(`${id}-late`)).to.match(/^451 /)
      await end()
      acceptedIds.push(id)
      await whenStored(...acceptedIds)
      expect(await storedCounts()).to.deep.equal([acceptedIds.length, acceptedIds.length])
    })
  }
})
