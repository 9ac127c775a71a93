// Files of messages are fetched with the connection's credentials, within bounds, and only from the provider.
import { createHash } from "node:crypto"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { until } from "../../waiting.ts"
import { pluginSettings } from "../buckets/stores.ts"
import { listen, type Peer, type PeerRequest } from "../outgoing-http/loopback-peer.ts"
import { accountSid, json } from "./providers.ts"
import { chatMessage, type Endpoints, type Kind, makePipelines, messagesOf, own, phoneNumberId, postMeta, postTwilio } from "./webhooks.ts"

const picture = Buffer.from("89504e470d0a1a0a0000", "hex")
const large = Buffer.alloc(2_000_000, 7)
const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex")

describe("media of messages", () => {
  let host: TestHost
  let urls: Endpoints
  /** Meta's API, its files, and an unrelated server. */
  let api: Peer
  let files: Peer
  let elsewhere: Peer
  let isBroken = true
  before(async () => {
    const serve = ({ url }: PeerRequest, response: Parameters<typeof json>[0]) => {
      if (url.startsWith("/cut") && isBroken) {
        response.writeHead(200, { "content-length": picture.length }).write(picture.subarray(0, 4), () => response.destroy())
        return
      }
      response.writeHead(200, { "content-type": "application/octet-stream" }).end(url.startsWith("/large") ? large : picture)
    }
    files = await listen(serve)
    elsewhere = await listen(serve)
    const mediaOf = (more: object = {}) => ({
      ...{ url: `${files.origin}/file`, mime_type: "image/png", file_size: 10, sha256: sha256(picture) },
      ...more,
    })
    const existing: Record<string, object> = {
      good: mediaOf(),
      voice: mediaOf({ mime_type: "audio/ogg; codecs=opus" }),
      page: mediaOf({ mime_type: "text/html" }),
      named: mediaOf({ mime_type: "constructor" }),
      big: mediaOf({ file_size: 50_000_000 }),
      lying: mediaOf({ url: `${files.origin}/large`, sha256: "" }),
      other: mediaOf({ sha256: sha256(large) }),
      away: mediaOf({ url: `${elsewhere.origin}/file` }),
      short: mediaOf({ file_size: 999, sha256: "" }),
      flaky: mediaOf(),
      cut: mediaOf({ url: `${files.origin}/cut` }),
    }
    api = await listen(({ url }, response) => {
      const { pathname } = new URL(url, "http://loopback")
      if (pathname.startsWith("/2010-04-01/")) {
        response.writeHead(307, { location: `${elsewhere.origin}/moved` }).end()
        return
      }
      const id = pathname.replace("/v23.0/", "")
      if (id === "flaky" && isBroken) json(response, 503, {})
      else json(response, Object.hasOwn(existing, id) ? 200 : 404, Object.hasOwn(existing, id) ? (existing[id] ?? {}) : {})
    })
    const hosts = [api, files, elsewhere].map(({ port }) => `127.0.0.1:${port}`).join(",")
    host = await testHost({
      capture: false,
      env: { MILLRACE_OUTGOING_ALLOW_HOSTS: hosts, ...pluginSettings({ conversations: { max_media_bytes: 1_500_000 } }) },
    })
    urls = await makePipelines(host)
    for (const [name, base_url] of [
      ["meta", `${api.origin}/v23.0`],
      ["twilio", api.origin],
    ]) {
      const credentials = { base_url, headers: { Authorization: `Bearer ${name}-token` }, file_origins: [files.origin] }
      const answer = await host.api("POST", "/v1/integrations-connect", { app: "http", name, share_with_org: true, credentials })
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    }
    const number = {
      number: own,
      chat_app: { integration: "meta", phone_number_id: phoneNumberId },
      sms: { integration: "twilio", account_sid: accountSid },
    }
    expect((await host.api("POST", "/v1/voice/phone-numbers", number)).status).to.equal(200)
  })
  after(async () => {
    await host.stop()
    for (const peer of [api, files, elsewhere]) await peer.close()
  })

  let count = 0
  const fetched = async (kind: Kind, person: string) => {
    const [message] = await until("the file being fetched or not", async () => {
      const messages = await messagesOf(host, kind, person)
      return messages[0]?.media.every(({ state }) => state !== "pending") ? messages : undefined
    })
    return message
  }
  const sendMedia = async (id: string, type = "image") => {
    const person = `+49152${10_000_000 + ++count}`
    const body = { id, mime_type: "image/png", caption: "Look" }
    await postMeta(urls.meta, chatMessage(`wamid.m${count}`, person, { at: Date.now(), type, body }))
    return person
  }

  it("are kept in the bucket and read by a signed link", async () => {
    const message = await fetched("chatapp", await sendMedia("good"))
    expect(message).to.include({ kind: "image", text: "Look" })
    const [file] = message?.media ?? []
    expect(file).to.include({ state: "stored", size: picture.length, media_type: "image/png", problem: "" })
    const read = await fetch(file?.url ?? "")
    expect([read.status, read.headers.get("content-type")]).to.deep.equal([200, "image/png"])
    expect(Buffer.from(await read.arrayBuffer()).equals(picture)).to.equal(true)
    expect((await fetched("chatapp", await sendMedia("voice", "audio")))?.media[0]).to.include({ state: "stored" })
    expect(files.asked.every(({ headers }) => headers.authorization === "Bearer meta-token")).to.equal(true)
  })

  it("are refused by type and size, be it told or not, and by what they do not hold", async () => {
    for (const [id, state, problem] of [
      ["page", "refused", /text\/html/],
      ["named", "refused", /type constructor/],
      ["big", "refused", /50000000 bytes/],
      ["lying", "refused", /more than 1500000 bytes/],
      ["other", "failed", /SHA-256/],
      ["short", "failed", /10 bytes, and not the 999/],
      ["constructor", "failed", /404/],
      ["gone", "failed", /404/],
      ["away", "failed", /not at/],
    ] as const) {
      const [file] = (await fetched("chatapp", await sendMedia(id)))?.media ?? []
      expect(file, id).to.include({ state, url: "", size: 0 })
      expect(file?.problem, id).to.match(problem)
    }
    expect(elsewhere.asked, "where the connection does not reach").to.deep.equal([])
  })

  it("of text messages follow a redirect, without the credentials", async () => {
    const person = "+4915299999999"
    const url = (n: number) => `${api.origin}/2010-04-01/Accounts/${accountSid}/Messages/MM1/Media/ME${n}`
    await postTwilio(urls.twilio, {
      ...{ MessageSid: "MM1", From: person, To: own, Body: "Two", SmsStatus: "received", NumMedia: "2" },
      ...{ MediaUrl0: url(0), MediaContentType0: "image/jpeg", MediaUrl1: "https://evil.test/x", MediaContentType1: "image/jpeg" },
    })
    const message = await fetched("text", person)
    expect(message?.media.map(({ state }) => state)).to.deep.equal(["stored", "failed"])
    expect(elsewhere.asked.map(({ url, headers }) => [url, headers.authorization])).to.deep.equal([["/moved", undefined]])
    const requests = api.asked.filter(({ url }) => url.includes("/Media/ME0"))
    expect(requests.map(({ headers }) => headers.authorization)).to.deep.equal(["Bearer twilio-token"])
  })

  it("are tried once more after passing trouble", async () => {
    const people = [await sendMedia("flaky"), await sendMedia("cut")]
    await until("the first try", () => api.asked.some(({ url }) => url.startsWith("/v23.0/flaky")))
    await until("the half of a file", () => files.asked.some(({ url }) => url.startsWith("/cut")))
    isBroken = false
    for (const person of people) {
      expect((await fetched("chatapp", person))?.media[0]).to.include({ state: "stored", size: picture.length })
    }
  })
})
