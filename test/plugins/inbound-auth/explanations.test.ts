// A refusal names a cause with evidence, or states that the cause is unknown.
import { createHmac } from "node:crypto"
import { expect } from "chai"
import { createKeyFetcher } from "../../../plugins/inbound-auth/key-fetcher.ts"
import { failureOf } from "../../refusal.ts"
import { endpoint, inbound, now, providerOf } from "./requests.ts"

const key = "correct horse battery staple"
const hex = (text: string, secret: string | Buffer = key) => createHmac("sha256", secret).update(text).digest("hex")

async function refusal(provider: string, stored: string, body: string, headers: Record<string, string>, url = endpoint) {
  const verdict = await providerOf(provider, { secrets: [stored] }).verify(inbound({ body, headers, url }))
  if (verdict.ok) throw new Error("it verified")
  return verdict
}

describe("explanations of a refusal", () => {
  const github = (signed: string, arrived: string, stored = key) =>
    refusal("github", stored, arrived, { "x-hub-signature-256": `sha256=${hex(signed)}` })

  it("body_modified, and how, when the signature fits the body as something rewrote it", async () => {
    const compact = '{"a":"ü/x","b":[1,2]}'
    const cases = [
      [compact, JSON.stringify(JSON.parse(compact), null, 2), "compact JSON"],
      [compact, `${compact}\n`, "surrounding white space removed"],
      [`${compact}\n`, compact, "line break added"],
      ["a\r\nb", "a\nb", "CRLF line breaks"],
      ['{"a":"\\u00fc/x","b":[1,2]}', compact, "non-ASCII characters escaped"],
      ['{"a": "\\u00fc", "b": [1, 2]}'.replace("\\u00fc", "ü"), '{"a":"ü","b":[1,2]}', "space after , and :"],
    ] as const
    for (const [signed, arrived, how] of cases) {
      const verdict = await github(signed, arrived)
      expect(verdict.cause, how).to.equal("body_modified")
      expect(verdict.message).to.include(how).and.to.include("The secret is right")
    }
  })

  it("wrong_secret with a hint, when the signature fits another reading of the stored secret", async () => {
    const hints = [
      [` ${key}\n`, hex("{}"), "white space"],
      [`"${key}"`, hex("{}"), "quotes"],
      [`whsec_${key}`, hex("{}"), "without its `whsec_` prefix"],
      ["abcdef0123456789", hex("{}", Buffer.from("abcdef0123456789", "hex")), "decoded from hexadecimal"],
      ["whsec_c2VjcmV0LWJ5dGVz", hex("{}", Buffer.from("secret-bytes")), "base64-decoded"],
    ] as const
    for (const [stored, signature, hint] of hints) {
      const verdict = await refusal("github", stored, "{}", { "x-hub-signature-256": `sha256=${signature}` })
      expect(verdict.cause).to.equal("wrong_secret")
      expect(verdict.message).to.include(hint)
      expect(verdict.message).not.to.include(key)
    }
    const at = Math.floor(now / 1_000)
    const verbatim = createHmac("sha256", "whsec_c2VjcmV0LWJ5dGVz").update(`m.${at}.{}`).digest("base64")
    const headers = { "webhook-id": "m", "webhook-timestamp": String(at), "webhook-signature": `v1,${verbatim}` }
    expect((await refusal("standard_webhooks", "whsec_c2VjcmV0LWJ5dGVz", "{}", headers)).message).to.include("as a verbatim string")
  })

  it("url_mismatch, naming both addresses, when the signature fits another spelling of the URL", async () => {
    const signed = endpoint.replace("https:", "http:")
    const signature = createHmac("sha256", key).update(`${signed}{}`).digest("base64")
    const verdict = await refusal("square", key, "{}", { "x-square-hmacsha256-signature": signature })
    expect(verdict.cause).to.equal("url_mismatch")
    expect(verdict.message).to.include(signed).and.to.include(endpoint).and.to.include("MILLRACE_PUBLIC_URL")
  })

  it("says that secret and body cannot be told apart when there is no evidence", async () => {
    const verdict = await github("{}", '{"a":1}')
    expect(verdict.cause).to.equal("wrong_secret")
    expect(verdict.message).to.include("the body was changed in transit").and.to.include("does not tell which")
    const large = await github("{}", `{"a":"${"x".repeat(100_000)}"}`)
    expect(large.cause).to.equal("wrong_secret")
  })

  it("malformed_signature says what was expected and what was seen", async () => {
    const verdict = await refusal("github", key, "{}", { "x-hub-signature-256": `sha256=${hex("{}").toUpperCase()}` })
    expect(verdict.message).to.include("64 characters of lower-case hex").and.to.include("Upper-case")
  })
})

describe("canonical requests", () => {
  it("contentful: escapes the query as a whole, and wants the time among the signed headers", async () => {
    const judge = async (names: string, headers: string) => {
      const text = `POST\n${new URL(endpoint).pathname}?foo%253Dbar%2526x%253D1\n${headers}\n{}`
      const message = {
        "x-contentful-timestamp": String(now),
        "x-contentful-signed-headers": names,
        "x-contentful-signature": hex(text),
        "x-name": " My Hook ",
      }
      const verdict = await providerOf("contentful", { secrets: [key] }).verify(
        inbound({ url: `${endpoint}?foo=bar&x=1`, body: "{}", headers: message }),
      )
      return verdict.ok ? "ok" : verdict.cause
    }
    expect(await judge("x-name,x-contentful-timestamp", `x-contentful-timestamp:${now};x-name:My Hook`)).to.equal("ok")
    expect(await judge("x-name", "x-name:My Hook")).to.equal("timestamp_missing")
  })

  it("plivo: glues query and form as there are any", async () => {
    const judge = async (query: string, body: string, text: string) => {
      const headers = {
        "content-type": "application/x-www-form-urlencoded",
        "x-plivo-signature-v3-nonce": "n",
        "x-plivo-signature-v3": `bm9uZQ==,${createHmac("sha256", key).update(`${endpoint}${text}.n`).digest("base64")}`,
      }
      return (await providerOf("plivo", { secrets: [key] }).verify(inbound({ url: `${endpoint}${query}`, body, headers }))).ok
    }
    expect(await judge("", "", "")).to.equal(true)
    expect(await judge("?b=2&a=1", "", "?a=1&b=2")).to.equal(true)
    expect(await judge("", "b=2&a=1", "?a1b2")).to.equal(true)
    expect(await judge("?c=3", "b=2&a=1", "?c=3.a1b2")).to.equal(true)
    expect(await judge("?c=3", "b=2&a=1", "?c=3a1b2")).to.equal(false)
  })
})

describe("fetching keys", () => {
  const fetcher = (answer: () => Response) => createKeyFetcher(async () => answer())
  const failure = async (work: Promise<string>) => (await failureOf(work)).message

  it("is over https, of 2xx answers, of few bytes", async () => {
    expect(await fetcher(() => new Response("key")).get("https://a.test/k")).to.equal("key")
    expect(await failure(fetcher(() => new Response("key")).get("http://a.test/k"))).to.include("https only")
    expect(await failure(fetcher(() => new Response("no", { status: 404 })).get("https://a.test/k"))).to.include("404")
    expect(await failure(fetcher(() => new Response("x".repeat(70_000))).get("https://a.test/k"))).to.include("larger than")
  })

  it("follows no redirect and does not wait for ever", async () => {
    let observed: RequestInit | undefined
    const spy = createKeyFetcher(async (_url, init) => {
      observed = init
      return new Response("key")
    })
    await spy.get("https://a.test/k")
    expect(observed?.redirect).to.equal("error")
    expect(observed?.signal).to.be.instanceOf(AbortSignal)
  })
})
