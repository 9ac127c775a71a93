// Sealed secrets open only in their own context.
import { randomBytes } from "node:crypto"
import { expect } from "chai"
import fc from "fast-check"
import { AppError } from "../../core/kernel/errors.ts"
import { createVault } from "../../core/kernel/vault.ts"

function codeOf(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    if (error instanceof AppError) return error.code
    throw error
  }
  return "none"
}

describe("vault", () => {
  const masterKey = randomBytes(32)
  const vault = createVault(masterKey)

  it("opens what it sealed, for any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string(), (plain, context) => {
        expect(vault.open(vault.seal(plain, context), context)).to.equal(plain)
      }),
    )
  })

  it("seals the same text differently each time and shows none of it", () => {
    const first = vault.seal("whsec_visible", "pipeline 1")
    expect(first.text).to.not.equal(vault.seal("whsec_visible", "pipeline 1").text)
    expect(Buffer.from(first.text, "base64").toString("latin1")).to.not.include("visible")
    expect(first.key_id).to.match(/^[0-9a-f]{16}$/)
  })

  it("does not open in another context, changed in any byte, cut short, or under another key", () => {
    const sealed = vault.seal("s3cret", "pipeline 1")
    expect(() => vault.open(sealed, "pipeline 2"))
      .to.throw(AppError)
      .that.deep.includes({ code: "data_loss", details: { reason: "sealed_text_corrupt" } })
    const bytes = Buffer.from(sealed.text, "base64")
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes)
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
      expect(codeOf(() => vault.open({ ...sealed, text: changed.toString("base64") }, "pipeline 1"))).to.equal("data_loss")
    }
    for (const length of [0, 5, 12, 27]) {
      expect(codeOf(() => vault.open({ ...sealed, text: bytes.subarray(0, length).toString("base64") }, "pipeline 1"))).to.equal(
        "data_loss",
      )
    }
    expect(() => createVault(randomBytes(32)).open(sealed, "pipeline 1"))
      .to.throw(AppError)
      .that.deep.includes({ code: "data_loss", details: { reason: "unknown_master_key" } })
  })

  it("opens what a retired master key sealed, and seals under the new one", () => {
    const sealed = vault.seal("old", "x")
    const next = createVault(randomBytes(32), [masterKey])
    expect(next.open(sealed, "x")).to.equal("old")
    expect(next.seal("new", "x").key_id).to.not.equal(sealed.key_id)
  })

  it("derives a key of its own for each purpose, the same over restarts", () => {
    expect(vault.keyFor("cursors").equals(createVault(masterKey).keyFor("cursors"))).to.equal(true)
    expect(vault.keyFor("cursors").equals(vault.keyFor("cookies"))).to.equal(false)
    expect(vault.keyFor("cursors").equals(masterKey)).to.equal(false)
  })
})
