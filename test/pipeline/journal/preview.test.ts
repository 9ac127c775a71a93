// Previews: parts of a payload allowed in the journal.
import { expect } from "chai"
import fc from "fast-check"
import { previewOfText, previewOfValue } from "../../../core/pipeline/journal/draft.ts"

describe("previews", () => {
  it("show what is harmless as it is", () => {
    expect(previewOfText('{"email":"a@b.test"}')).to.equal('{"email":"a@b.test"}')
    expect(previewOfValue({ n: 1 }, '{"n":1}')).to.deep.equal({ n: 1 })
  })

  it("cut the values of fields named like secrets, at any depth, in any case", () => {
    const input = { a: [{ Password: "p-1" }], token: { inner: "p-2" }, api_key: "p-3", email: "a@b.test" }
    const text = previewOfText(JSON.stringify(input))
    expect(text).not.to.match(/p-\d/)
    expect(JSON.parse(text)).to.deep.equal({
      a: [{ Password: "[redacted]" }],
      token: "[redacted]",
      api_key: "[redacted]",
      email: "a@b.test",
    })
  })

  it("know the names that the log knows", () => {
    const names = ["apiKey", "client-secret", "x-api-key", "accessToken", "webhook_signature", "cardNumber", "passphrase", "x-auth"]
    const input = Object.fromEntries([...names, "author", "token_count", "secret_id", "keyboard"].map((name) => [name, "v-1"]))
    const resource = JSON.parse(previewOfText(JSON.stringify(input))) as Record<string, string>
    for (const name of names) expect(resource[name], name).to.equal("[redacted]")
    for (const name of ["author", "token_count", "secret_id", "keyboard"]) expect(resource[name], name).to.equal("v-1")
    expect(previewOfText('{"pass\\u0077ord":"p-1"}')).not.to.include("p-1")
  })

  it("are the text as it came, spaces and all, where nothing of it is cut", () => {
    const text = '{ "key": "k",  "number": 1 }'
    expect(previewOfText(text)).to.equal(text)
  })

  it("stand deep nesting", () => {
    const text = `${'{"password":'.repeat(1)}${"[".repeat(20_000)}${"]".repeat(20_000)}}`
    expect(() => previewOfText(text)).not.to.throw()
    expect(() => previewOfValue(JSON.parse('{"token":"x","a":[[[]]]}'), '{"token":"x","a":[[[]]]}')).not.to.throw()
  })

  it("cut them in text that is not JSON, and in a field's name", () => {
    for (const text of ["password=p-1&x=1", '{"password": "p-1", oops', "token: p-1", "{'secret':'p-1'}"])
      expect(previewOfText(text), text).not.to.include("p-1")
  })

  it("are made in one pass over what comes, however long its names, spaces and words are", () => {
    const million = 1_000_000
    const head = '{"token":"p-1","a":'
    for (const text of [
      `token: p-1 ${"a".repeat(million)}`,
      `token: p-1 token${" ".repeat(million)}`,
      `token: p-1 ${'"a=" '.repeat(million / 5)}`,
      `${head}"token${" ".repeat(million)}x"}`,
      `${head}"${"\\\\".repeat(million / 2)}"}`,
      `${head}${"[".repeat(million)}`,
      `${head}"${"a".repeat(million)}token":"p-1"}`,
      `{"credentials":${'{"a":"}"},'.repeat(million / 10)}`,
      `[${'"",'.repeat(million / 3)}`,
    ]) {
      expect(previewOfText(text).length, text.slice(0, 40)).to.be.below(2_100)
      expect(previewOfText(text)).not.to.include("p-1")
    }
  })

  it("cut a value that has no end, and one with escapes in it", () => {
    for (const text of [
      '{"password":"p-1 and p-1',
      '{"password":"a\\"p-1","n":1}',
      '{"a":1,password:"p-1 p-1"}',
      '{"token":{"a":["p-1"]}',
      'password="p-1 p-1',
      '{"a":"b"} secret = p-1',
    ])
      expect(previewOfText(text), text).not.to.include("p-1")
    expect(previewOfText('{"password":null,"token":true,"n":[1]}')).to.equal('{"password":null,"token":true,"n":[1]}')
  })

  it("never hold a secret value, regardless of what stands around it, and are never long", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom("password", "secret", "token", "cvv"), fc.array(fc.string()), (around, name, keys) => {
        const secret = "s3cr3t-value-0123456789"
        let value: unknown = { [name]: secret, around }
        for (const key of keys) value = { [key]: value, list: [around] }
        const text = JSON.stringify(value)
        expect(previewOfText(text)).not.to.include(secret)
        expect(JSON.stringify(previewOfValue(value as never, text))).not.to.include(secret)
        expect(previewOfText(text).length).to.be.lessThan(2_100)
      }),
    )
    expect(previewOfText("x".repeat(5_000))).to.match(/^x{2000}… \(5000 characters\)$/)
  })
})
