// The master key has one clear source or a clear refusal. A generated key is stored only on request.
import { randomBytes } from "node:crypto"
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { adoptNextMasterKey, loadMasterKeys, nextMasterKey, parseMasterKey } from "../../core/kernel/master-keys.ts"

describe("master key", () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "millrace-master-key-"))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const load = (more: Partial<Parameters<typeof loadMasterKeys>[0]> = {}) =>
    loadMasterKeys({ configured: null, retired: [], dataDir: folder, production: false, ...more })

  it("is read from hex and from both alphabets of base64", () => {
    const key = Buffer.from("fb".repeat(32), "hex")
    for (const text of [
      key.toString("hex"),
      key.toString("hex").toUpperCase(),
      key.toString("base64"),
      key.toString("base64url"),
      `${key.toString("base64")}\n`,
    ]) {
      expect(parseMasterKey(text, "k").equals(key), text).to.equal(true)
    }
  })

  it("is refused in any other form, with the remedy and without the value", () => {
    for (const text of [
      "",
      "hunter2hunter2",
      "ab".repeat(31),
      "zz".repeat(32),
      randomBytes(31).toString("base64"),
      randomBytes(33).toString("base64"),
    ]) {
      expect(() => parseMasterKey(text, "master_key")).to.throw(/master_key must be 32 bytes.*openssl rand -base64 32/)
    }
    expect(() => parseMasterKey("hunter2hunter2", "master_key")).to.not.throw(/hunter2/)
    expect(() => load({ configured: randomBytes(32).toString("hex"), retired: ["hunter2"] })).to.throw(/retired_master_keys\[0\]/)
  })

  it("is drawn, kept for the owner alone when told to, and the same at the next start", () => {
    const dataDir = join(folder, "data")
    const first = load({ dataDir })
    expect(first.source).to.equal(undefined)
    expect(existsSync(dataDir)).to.equal(false)
    first.keep()
    const second = load({ dataDir })
    expect(second.current.equals(first.current)).to.equal(true)
    expect(second.source).to.equal(join(dataDir, "master.key"))
    expect(statSync(join(dataDir, "master.key")).mode & 0o777).to.equal(0o600)
    expect(readdirSync(dataDir)).to.deep.equal(["master.key"])
  })

  it("that another process kept meanwhile is not written over", () => {
    const slow = load()
    const quick = load()
    quick.keep()
    expect(() => slow.keep()).to.throw(/another process/)
    expect(load().current.equals(quick.current)).to.equal(true)
  })

  it("has a next one while it is replaced: drawn once, opened with, then in its place", () => {
    const first = load()
    first.keep()
    const next = nextMasterKey(first.file)
    expect(nextMasterKey(first.file).equals(next)).to.equal(true)
    expect(load().current.equals(first.current)).to.equal(true)
    expect(load().retired.map((key) => key.equals(next))).to.deep.equal([true])
    adoptNextMasterKey(first.file)
    expect(load().current.equals(next)).to.equal(true)
    expect(readdirSync(folder)).to.deep.equal(["master.key"])
  })

  it("is refused where the kept file does not hold one, and the file is left alone", () => {
    writeFileSync(join(folder, "master.key"), "scrambled")
    expect(() => load()).to.throw(/master\.key must be 32 bytes/)
  })

  it("is neither drawn nor read from the file in production", () => {
    expect(() => load({ production: true })).to.throw(/MILLRACE_MASTER_KEY/)
    expect(existsSync(join(folder, "master.key"))).to.equal(false)
    const configured = randomBytes(32).toString("hex")
    expect(load({ configured, production: true }).current.toString("hex")).to.equal(configured)
  })
})
