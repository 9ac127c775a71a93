// The text form of keys: every typing error is detected.
import { expect } from "chai"
import fc from "fast-check"
import { generateKey, hashKey, parseKey, prefixOf } from "../../../plugins/platform/identity/index.ts"

describe("key format", () => {
  it("is mr_api_ or mr_token_, 16 characters of id, 32 of secret and 6 of checksum, base62", () => {
    expect(generateKey("api_key").text).to.match(/^mr_api_[0-9A-Za-z]{16}_[0-9A-Za-z]{38}$/)
    expect(generateKey("token").text).to.match(/^mr_token_[0-9A-Za-z]{16}_[0-9A-Za-z]{38}$/)
  })

  it("is read back as it was drawn, each key another", () => {
    const visited = new Set<string>()
    for (let n = 0; n < 500; n++) {
      const key = generateKey(n % 2 === 0 ? "api_key" : "token")
      expect(parseKey(key.text)).to.deep.equal(key)
      expect(key.text.startsWith(`${prefixOf(key.kind, key.keyId)}_`)).to.equal(true)
      visited.add(key.keyId)
    }
    expect(visited.size).to.equal(500)
  })

  it("carries the CRC-32 of what stands before it", () => {
    // Computed independently by Python's zlib.crc32.
    const body = "mr_api_0000000000000000_00000000000000000000000000000000"
    expect(parseKey(`${body}2be7JF`)).to.deep.include({ kind: "api_key", keyId: "0000000000000000" })
    expect(parseKey(`${body}2be7J1`)).to.equal("mistyped")
  })

  it("tells any one wrong character from a key that is merely unknown", () => {
    const { text } = generateKey("api_key")
    const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    fc.assert(
      fc.property(fc.integer({ min: 7, max: text.length - 1 }), fc.constantFrom(...alphabet), (at, character) => {
        fc.pre(text[at] !== character && text[at] !== "_")
        expect(parseKey(text.slice(0, at) + character + text.slice(at + 1))).to.equal("mistyped")
      }),
    )
  })

  it("is not a key when it is cut, longer, of another service, or in other characters", () => {
    const { text } = generateKey("api_key")
    for (const wrong of [
      "",
      "mr_api_",
      text.slice(0, -1),
      `${text}a`,
      ` ${text}`,
      `${text}\n`,
      text.replace("mr_", "sk_"),
      text.replace("_api_", "_user_"),
      "é".repeat(62),
    ]) {
      expect(parseKey(wrong), JSON.stringify(wrong)).to.equal("malformed")
    }
  })

  it("is kept as a hash that only the whole key gives", () => {
    const { text } = generateKey("api_key")
    expect(hashKey(text)).to.equal(hashKey(text))
    expect(hashKey(text)).to.not.equal(hashKey(`${text}x`))
  })
})
