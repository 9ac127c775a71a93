// A backup contains one instant of a store. It is made during writes, and damage is detected. Restoring it returns exactly that
// instant.
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { defineCollection } from "../../core/contract/collection.ts"
import { backUp, restore, verifyBackup } from "../../core/storage/sqlite/backup.ts"
import { runMillrace } from "../cli/command-line.ts"
import { failureOf } from "../refusal.ts"
import type { Note } from "./contract.ts"
import { type OpenedFile, openFile } from "./opened.ts"

const pairs = defineCollection<Note>()({ name: "pairs", scope: "global", times: [], indexes: [{ fields: ["n"] }] })
const now = "2026-05-01T00:00:00.000Z"

describe("backup", () => {
  let folder: string
  let opened: OpenedFile
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "millrace-backup-"))
    opened = await openFile([pairs])
  })
  afterEach(async () => {
    await opened.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const file = (name: string) => join(folder, name)
  /** Two documents that exist together or not at all. */
  const pair = (n: number) => {
    const writes = ["a", "b"].map(
      (side) => ({ kind: "insert", collection: pairs, doc: { id: `${side}-${n}`, n, text: "x".repeat(500) } }) as const,
    )
    return opened.store.commit({ id: `pair-${n}`, writes })
  }
  const failure = async (run: Promise<unknown>) => (await failureOf(run)).message

  it("taken under load holds every commit before it, whole ones only, and comes back by restore", async () => {
    for (let n = 0; n < 500; n++) await pair(n)
    let going = true
    let writeCount = 500
    const load = (async () => {
      while (going) await Promise.all(Array.from({ length: 50 }, () => pair(writeCount++)))
    })()
    const report = await backUp(opened.file, file("copy"), now).finally(() => {
      going = false
    })
    await load
    expect(writeCount).to.be.greaterThan(500)
    expect(report.documents)
      .to.be.at.least(1_000)
      .and.at.most(writeCount * 2)
    expect(verifyBackup(file("copy"))).to.deep.equal(report)
    expect(readdirSync(folder)).to.deep.equal(["copy"])

    await opened.store.stop()
    const { aside, sha256 } = await restore(file("copy"), opened.file, now)
    expect(sha256).to.equal(report.sha256)
    const again = await openFile([pairs], { file: opened.file })
    const sides: Note[] = []
    for await (const side of again.store.open(pairs).stream({})) sides.push(side)
    expect(sides.length).to.equal(report.documents)
    expect(new Set(sides.filter(({ id }) => id.startsWith("a")).map(({ n }) => n))).to.deep.equal(
      new Set(sides.filter(({ id }) => id.startsWith("b")).map(({ n }) => n)),
    )
    // The store's memory of its commits was restored, and it accepts new ones.
    expect((await again.store.commit({ id: "pair-0", writes: [] })).created).to.deep.equal([])
    await again.store.commit({ id: "new", writes: [{ kind: "insert", collection: pairs, doc: { id: "new" } }] })
    await again.store.stop()
    const before = await openFile([pairs], { file: aside ?? "" })
    expect(await before.store.open(pairs).count({})).to.equal(writeCount * 2)
    await before.close()
  })

  it("that was damaged is refused, and the store is left as it was", async () => {
    for (let n = 0; n < 50; n++) await pair(n)
    await backUp(opened.file, file("copy"), now)
    const bytes = readFileSync(file("copy"))
    const at = bytes.lastIndexOf("x".repeat(200))
    bytes[at + 100] = 121
    writeFileSync(file("changed"), bytes)
    writeFileSync(file("short"), bytes.subarray(0, bytes.length - 20_000))
    copyFileSync(opened.file, file("plain"))
    writeFileSync(file("text"), "not a database, though it is long enough to look at. ".repeat(100))
    await opened.store.stop()
    const stored = readFileSync(opened.file)
    for (const name of ["changed", "short", "plain", "text", "absent"]) {
      expect(await failure(restore(file(name), opened.file, now)), name).to.match(/\S/)
    }
    expect(await failure(restore(file("changed"), opened.file, now))).to.match(/damaged.*checksum/)
    expect(await failure(restore(file("plain"), opened.file, now))).to.include("is not a backup")
    expect(readFileSync(opened.file).equals(stored)).to.equal(true)
  })

  it("is not written over another file, and not restored under a running service", async () => {
    await pair(1)
    await backUp(opened.file, file("copy"), now)
    expect(await failure(backUp(opened.file, file("copy"), now))).to.include("exists already")
    expect(await failure(backUp(file("none"), file("other"), now)))
      .to.include("data file")
      .and.include("does not exist")
    expect(existsSync(file("other"))).to.equal(false)
    expect(await failure(restore(file("copy"), opened.file, now))).to.include("in use by another running process")
    await pair(2)
    expect(await opened.store.open(pairs).count({})).to.equal(4)
  })

  it("is restored where there was no store yet", async () => {
    await pair(1)
    const report = await backUp(opened.file, file("copy"), now)
    const { aside } = await restore(file("copy"), file("fresh.db"), now)
    expect(aside).to.equal(undefined)
    const fresh = await openFile([pairs], { file: file("fresh.db") })
    expect(await fresh.store.open(pairs).count({})).to.equal(report.documents)
    await fresh.close()
  })
})

describe("millrace backup and restore", () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "millrace-backup-"))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  it("copy the store of a running service, and put the copy back while it is stopped, with what was there kept aside", async () => {
    const dataDir = join(folder, "data")
    const env = { MILLRACE_DATA_DIR: dataDir }
    const copy = join(folder, "copies", "monday.db")
    const slugs = async (host: TestHost) => {
      const { body } = await host.api<{ datasets: { slug: string }[] }>("GET", "/v1/datasets")
      return body.datasets.map(({ slug }) => slug)
    }
    let host = await testHost({ dataDir })
    await host.api("POST", "/v1/datasets", { name: "Before" })
    const result = await runMillrace(["backup", copy], { env })
    expect([result.code, result.err]).to.deep.equal([0, ""])
    expect(result.out).to.match(/monday\.db: \d+ documents, sha256 [0-9a-f]{64}\nThe master key .* is not included/)
    await host.api("POST", "/v1/datasets", { name: "After" })
    expect(await slugs(host)).to.have.members(["before", "after"])

    const running = (await runMillrace(["restore", copy], { env }).catch((error: unknown) => error)) as Error
    expect(running.message).to.match(/stop/i)
    expect(await slugs(host), "a refused restore changes nothing").to.have.members(["before", "after"])
    await host.stop()

    const restored = await runMillrace(["restore", copy], { env })
    expect([restored.code, restored.err]).to.deep.equal([0, ""])
    const [, aside = ""] = /The replaced store is in (.*)\.$/m.exec(restored.out) ?? []
    expect(existsSync(aside), aside).to.equal(true)
    host = await testHost({ dataDir })
    try {
      expect(await slugs(host)).to.deep.equal(["before"])
    } finally {
      await host.stop()
    }
  })
})
