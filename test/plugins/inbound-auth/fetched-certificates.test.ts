// PayPal and Amazon SNS name their certificate in the request. It is fetched only from their own hosts.
import { sign } from "node:crypto"
import { crc32 } from "node:zlib"
import { expect } from "chai"
import { selfSigned } from "./certificate.ts"
import { causeOf, inbound, now, providerOf } from "./requests.ts"

const at = now
const time = new Date(at).toISOString()
const year_ms = 31_536_000_000
const { pem: certificate, key } = selfSigned(new Date(at - year_ms), new Date(at + year_ms))

function fetcherOf(requests: string[]) {
  return {
    get: async (url: string) => {
      requests.push(url)
      return certificate
    },
  }
}

describe("PayPal", () => {
  const body = '{"id":"WH-1","event_type":"PAYMENT.SALE.COMPLETED"}'
  const headers = (certUrl = "https://api.paypal.com/v1/notifications/certs/CERT-360caa42") => ({
    "paypal-transmission-id": "t-1",
    "paypal-transmission-time": time,
    "paypal-auth-algo": "SHA256withRSA",
    "paypal-cert-url": certUrl,
    "paypal-transmission-sig": sign("sha256", Buffer.from(`t-1|${time}|1JE4291016473214C|${crc32(body)}`), key).toString("base64"),
  })

  it("verifies, and asks for the certificate once", async () => {
    const requests: string[] = []
    const verifier = providerOf("paypal", { secrets: ["other", "1JE4291016473214C"], fetcher: fetcherOf(requests) })
    const expected = {
      ok: true,
      secretId: "secret-2",
      eventId: "WH-1",
      eventType: "PAYMENT.SALE.COMPLETED",
      proof: { headers: ["paypal-transmission-sig"] },
    }
    for (let round = 0; round < 3; round++)
      expect(await verifier.verify(inbound({ body, headers: headers(), receivedAt: at }))).to.deep.equal(expected)
    expect(requests).to.have.length(1)
    expect(causeOf(await verifier.verify(inbound({ body: `${body} `, headers: headers(), receivedAt: at })))).to.equal("wrong_secret")
    expect(causeOf(await verifier.verify(inbound({ body, headers: headers(), receivedAt: at + 301_000 })))).to.equal("timestamp_too_old")
    expect(causeOf(await verifier.verify(inbound({ body, headers: headers(), receivedAt: at + 2 * year_ms })))).to.equal("key_expired")
  })

  it("fetches from no other host or path", async () => {
    const requests: string[] = []
    const verifier = providerOf("paypal", { secrets: ["1JE4291016473214C"], fetcher: fetcherOf(requests) })
    for (const url of [
      "https://api.paypal.com.evil.test/v1/notifications/certs/CERT-1",
      "https://evil.test/v1/notifications/certs/CERT-1",
      "http://api.paypal.com/v1/notifications/certs/CERT-1",
      "https://api.paypal.com@evil.test/v1/notifications/certs/CERT-1",
      "https://api.paypal.com/v1/notifications/certs/../../x",
      "https://api.paypal.com/v1/notifications/certs/CERT-1\n",
    ]) {
      expect(causeOf(await verifier.verify(inbound({ body, headers: headers(url), receivedAt: at }))), url).to.equal("foreign_key")
    }
    expect(requests).to.deep.equal([])
  })
})

const topic = "arn:aws:sns:eu-west-1:123456789012:mail"

function snsBody(change: Record<string, string> = {}, version = "2"): string {
  const message: Record<string, string> = {
    Type: "Notification",
    MessageId: "m-1",
    TopicArn: topic,
    Message: "hello",
    Timestamp: time,
    SignatureVersion: version,
    SigningCertURL: "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-1.pem",
    ...change,
  }
  const names =
    message["Type"] === "Notification"
      ? ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"]
      : ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"]
  const text = names
    .filter((name) => message[name] !== undefined)
    .map((name) => `${name}\n${message[name]}\n`)
    .join("")
  const signature = sign(version === "1" ? "sha1" : "sha256", Buffer.from(text), key).toString("base64")
  return JSON.stringify({ ...message, Signature: signature })
}

describe("Amazon SNS", () => {
  const verify = (body: string, requests: string[] = []) =>
    providerOf("aws_sns", { config: { topic_arn: topic }, fetcher: fetcherOf(requests) }).verify(
      inbound({ body, headers: { "content-type": "text/plain" }, receivedAt: at }),
    )

  it("verifies both signature versions, with and without a subject", async () => {
    for (const version of ["1", "2"]) {
      for (const change of [{}, { Subject: "s" }] as Record<string, string>[]) {
        expect(await verify(snsBody(change, version))).to.deep.equal({
          ok: true,
          eventId: "m-1",
          eventType: "Notification",
          proof: { body: ["Signature"] },
        })
      }
    }
  })

  it("refuses changed messages, other topics and foreign certificates", async () => {
    expect(causeOf(await verify(snsBody().replace("hello", "hullo")))).to.equal("body_modified")
    expect(causeOf(await verify(snsBody({ TopicArn: `${topic}2` })))).to.equal("wrong_audience")
    const requests: string[] = []
    for (const url of [
      "https://sns.evil.test/x.pem",
      "https://sns.eu-west-1.amazonaws.com.evil.test/x.pem",
      "https://sns.a.b.amazonaws.com/x.pem",
      "https://sns.eu-west-1.amazonaws.com/../x.pem",
      "http://sns.eu-west-1.amazonaws.com/x.pem",
    ]) {
      expect(causeOf(await verify(snsBody({ SigningCertURL: url }), requests)), url).to.equal("foreign_key")
    }
    expect(requests).to.deep.equal([])
  })

  it("confirms a subscription of its topic once the message verifies, and no other", async () => {
    const address =
      "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=arn:aws:sns:eu-west-1:123456789012:mail&Token=abc"
    const headers = { "content-type": "text/plain", "x-amz-sns-message-type": "SubscriptionConfirmation" }
    const confirmation = (change: Record<string, string> = {}) =>
      snsBody({ Type: "SubscriptionConfirmation", Token: "abc", SubscribeURL: address, ...change })
    const run = (body: string) =>
      new Promise<{ asked: string[]; note: string }>((resolve) => {
        const requests: string[] = []
        const verifier = providerOf("aws_sns", {
          config: { topic_arn: topic },
          fetcher: fetcherOf(requests),
          note: (note) => resolve({ asked: requests, note }),
        })
        expect(verifier.handshake?.(inbound({ body, headers, receivedAt: at }))).to.deep.equal({ status: 200, body: "" })
      })
    const good = await run(confirmation())
    expect(good.asked).to.deep.equal(["https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-1.pem", address])
    expect(good.note).to.include("is confirmed")
    const forged = await run(confirmation().replace('"Token":"abc"', '"Token":"abd"'))
    expect(forged.asked).not.to.include(address)
    expect(forged.note).to.include("was not confirmed")
    const elsewhere = await run(confirmation({ SubscribeURL: "https://evil.test/?Action=ConfirmSubscription&x=1" }))
    expect(elsewhere.asked).to.have.length(1)
    const verifier = providerOf("aws_sns", { config: { topic_arn: topic } })
    expect(verifier.handshake?.(inbound({ body: confirmation({ TopicArn: `${topic}2` }), headers, receivedAt: at }))).to.equal(undefined)
  })
})
