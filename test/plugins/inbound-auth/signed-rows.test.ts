// Every MAC-signing row of the provider table against an independent sender: any body verifies, and any change of the signed part
// fails.
import { expect } from "chai"
import fc from "fast-check"
import { providerFacts } from "../../../plugins/inbound-auth/index.ts"
import { causeOf, inbound, now, providerOf } from "./requests.ts"
import type { Sender, Sent } from "./sender-kinds.ts"
import { senders } from "./senders.ts"

const macKinds = new Set(["hmac", "hmac_timestamped", "standard_webhooks", "url_params_hmac", "sha256_concat"])

const payloads = fc.oneof(
  fc.json(),
  fc.string({ unit: "binary", maxLength: 200 }).map((text) => text.toWellFormed()),
  fc.constantFrom("", "{}", '{"a":"ü€😀"}', "a=1&b=2"),
)

async function judge(
  sender: Sender,
  message: Sent,
  { at = now, secrets = [sender.secret] }: { at?: number; secrets?: readonly string[] } = {},
) {
  const verifier = providerOf(sender.provider, { secrets, ...(sender.config && { config: sender.config }) })
  return verifier.verify(inbound({ ...message, receivedAt: at }))
}

describe("signed rows of the provider table", () => {
  it("all have a sender here", () => {
    const rows = providerFacts()
      .filter(({ scheme }) => macKinds.has(scheme))
      .map(({ provider }) => provider)
    expect(senders.map((sender) => sender.provider).sort()).to.deep.equal([...rows].sort())
  })

  for (const sender of senders) {
    describe(sender.provider, () => {
      it("accepts any payload that its sender signed, and names the secret", () =>
        fc.assert(
          fc.asyncProperty(payloads, async (payload) => {
            const verdict = await judge(sender, sender.send(payload, now), {
              secrets: ["b3RoZXItc2VjcmV0LW90aGVyLXNlY3JldA==", sender.secret],
            })
            expect(verdict).to.deep.include({ ok: true, secretId: "secret-2" })
          }),
          { numRuns: 15 },
        ))

      it("refuses another secret, any one of those that live", async () => {
        const other = sender.secret.startsWith("4478") ? "AA".repeat(32) : sender.secret.replace("M", "N").replace("correct", "wrong")
        expect(other).not.to.equal(sender.secret)
        expect(causeOf(await judge(sender, sender.send('{"a":1}', now), { secrets: [other] }))).to.equal("wrong_secret")
        expect(causeOf(await judge(sender, sender.send('{"a":1}', now), { secrets: ["", other] }))).to.equal("wrong_secret")
        expect(causeOf(await judge(sender, sender.send('{"a":1}', now), { secrets: [""] }))).to.equal("no_secret")
      })

      it("refuses any one bit of what it covers changed", () =>
        fc.assert(
          fc.asyncProperty(fc.json(), fc.nat(), async (payload, place) => {
            const message = sender.send(payload, now)
            const body = changed(sender, message.body, place)
            expect(causeOf(await judge(sender, { ...message, body })), body).to.be.oneOf([
              "wrong_secret",
              "body_modified",
              "malformed_signature",
            ])
          }),
          { numRuns: 15 },
        ))

      it("refuses each signed header changed, absent, or sent twice differently", async () => {
        const message = sender.send('{"a":1}', now)
        for (const name of sender.signedHeaders) {
          const value = message.headers[name] ?? ""
          for (let index = 0; index < value.length; index++) {
            const headers = {
              ...message.headers,
              [name]: value.slice(0, index) + String.fromCharCode(value.charCodeAt(index) ^ 1) + value.slice(index + 1),
            }
            const cause = causeOf(await judge(sender, { ...message, headers }))
            if (!isIgnoredPart(sender, value, index)) expect(cause, `${name} at ${index}`).not.to.equal("ok")
          }
          const { [name]: _left, ...rest } = message.headers
          expect(causeOf(await judge(sender, { ...message, headers: rest })), `without ${name}`).not.to.equal("ok")
          const twice = { ...message.headers, [name]: [value, `${value}x`] } as unknown as Sent["headers"]
          expect(causeOf(await judge(sender, { ...message, headers: twice })), `${name} twice`).to.equal("duplicate_header")
          const same = { ...message.headers, [name]: [value, value] } as unknown as Sent["headers"]
          expect(causeOf(await judge(sender, { ...message, headers: same })), `${name} twice alike`).to.equal("ok")
        }
      })

      if (sender.window_s !== undefined) {
        const window_ms = sender.window_s * 1_000
        it("holds its window to both sides, and tolerance_s moves it", async () => {
          const at = Math.floor(now / 1_000) * 1_000
          const message = sender.send('{"a":1}', at)
          expect(causeOf(await judge(sender, message, { at: at + window_ms }))).to.equal("ok")
          expect(causeOf(await judge(sender, message, { at: at - window_ms }))).to.equal("ok")
          expect(causeOf(await judge(sender, message, { at: at + window_ms + 1_000 }))).to.equal("timestamp_too_old")
          expect(causeOf(await judge(sender, message, { at: at - window_ms - 1_000 }))).to.equal("timestamp_in_future")
          const wider = providerOf(sender.provider, { secrets: [sender.secret], config: { ...sender.config, tolerance_s: 3_600 } })
          expect(causeOf(await wider.verify(inbound({ ...message, receivedAt: at + 3_600_000 })))).to.equal("ok")
        })
      }
    })
  }
})

/** Flips one bit of the signed part: of the body, of a form's value, or of a signed field. */
function changed(sender: Sender, body: string, place: number): string {
  if (sender.covers === "form") return body.replace("To=%2B1", "To=%2B2")
  if (sender.covers === "fields")
    return body.replace(/t0k3n|psp1|"signed"/, (field) => field.replace("t0", "t1").replace("psp1", "psp2").replace("signed", "Signed"))
  const index = place % body.length
  const bytes = Buffer.from(body)
  bytes[index % bytes.length] = (bytes[index % bytes.length] ?? 0) ^ 1
  return bytes.toString("latin1")
}

/** Stripe's header contains parts of older schemes; they are ignored. */
function isIgnoredPart(sender: Sender, value: string, index: number): boolean {
  return sender.provider === "stripe" && index >= value.indexOf(",v0=")
}
