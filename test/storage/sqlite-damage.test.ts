// A damaged, truncated, deleted or moved data file is detected, reported, and neither overwritten nor replaced by a new one.
// Losses of its log are also reported.
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { expect } from "chai"
import { defineCollection } from "../../core/contract/collection.ts"
import { backUp, restore, verifyBackup } from "../../core/storage/sqlite/backup.ts"
import { claimDataFile } from "../../core/storage/sqlite/data-file.ts"
import type { SqliteOptions } from "../../core/storage/sqlite/driver.ts"
import type { FileFault, LostCommits } from "../../core/storage/sqlite/wire.ts"
import { failureOf, refusalOf } from "../refusal.ts"
import { sampleOf } from "../tier.ts"
import type { Note } from "./contract.ts"
import { carryLogOver, scribbleOn } from "./damaging.ts"
import { type OpenedFile, openFile } from "./opened.ts"

const notes = defineCollection<Note>()({ name: "notes", scope: "global", times: [], indexes: [{ fields: ["n"] }] })
const now = "2026-05-01T00:00:00.000Z"

describe("data file", () => {
  let folder: string
  let file: string
  let opened: OpenedFile | undefined
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "millrace-damage-"))
    file = join(folder, "data", "millrace.db")
  })
  afterEach(async () => {
    await opened?.close()
    opened = undefined
    rmSync(folder, { recursive: true, force: true })
  })

  const open = async (options: Partial<SqliteOptions> = {}) => {
    opened = await openFile([notes], { file, ...options })
    return opened
  }
  const put = (n: number) =>
    (opened as OpenedFile).store.commit({
      id: `put-${n}`,
      writes: [{ kind: "insert", collection: notes, doc: { id: `note-${n}`, n, text: "x".repeat(600) } as Note }],
    })
  const fill = async (count: number, from = 0) => {
    for (let n = from; n < from + count; n++) await put(n)
  }
  const stop = async () => {
    await opened?.store.stop()
    opened = undefined
  }
  const scribble = (at: number, bytes: number) => scribbleOn(file, at, bytes)

  describe("at start", () => {
    beforeEach(async () => {
      await open()
      await fill(100)
      await stop()
    })

    const damages: [string, () => void][] = [
      ["whose head is overwritten", () => scribble(0, 16)],
      ["in which a page is overwritten", () => scribble(3 * 8_192, 400)],
      ["that is cut short", () => truncateSync(file, 3 * 8_192)],
      ["that is something else", () => writeFileSync(file, "x".repeat(20_000))],
    ]
    for (const [what, damage] of sampleOf(damages)) {
      it(`refuses a file ${what}, names it and \`restore\`, and leaves it as it is; a backup then takes its place`, async () => {
        const backup = join(folder, "good")
        await backUp(file, backup, now)
        damage()
        const bytes = readFileSync(file)
        const { message } = await failureOf(open())
        expect(message).to.include(file).and.include("millrace restore FILE")
        expect(readFileSync(file).equals(bytes)).to.equal(true)
        expect((await failureOf(backUp(file, join(folder, "again"), now))).message).to.include(file)
        expect(existsSync(join(folder, "again"))).to.equal(false)

        const { aside } = await restore(backup, file, now)
        expect(readFileSync(String(aside)).length).to.equal(bytes.length)
        await open()
        expect(await opened?.store.open(notes).count({})).to.equal(100)
      })
    }

    it("names a damaged backup, and leaves the store alone", async () => {
      const backup = join(folder, "good")
      await backUp(file, backup, now)
      const content = readFileSync(backup)
      content.fill(0xa5, 3 * 8_192, 3 * 8_192 + 400)
      writeFileSync(backup, content)
      expect(() => verifyBackup(backup)).to.throw(backup)
      expect((await failureOf(restore(backup, file, now))).message).to.include(backup)
      await open()
      expect(await opened?.store.open(notes).count({})).to.equal(100)
    })

    it("makes no new store where the file is gone and something of it is left", async () => {
      rmSync(file)
      const { message } = await failureOf(open())
      expect(message).to.include(`The data file ${file} is not there, but a store existed here: ${file}-commits remains`)
      expect(existsSync(file)).to.equal(false)
      rmSync(`${file}-commits`)
      writeFileSync(`${file}-wal`, "log")
      expect((await failureOf(open())).message).to.include(`${file}-wal remains`)
      expect(readFileSync(`${file}-wal`, "utf8")).to.equal("log")
      rmSync(`${file}-wal`)
      const trace = join(folder, "master.key")
      writeFileSync(trace, "key")
      expect((await failureOf(open({ traces: [trace] }))).message).to.include(trace)
      rmSync(trace)
      await open({ traces: [trace] })
      expect(await opened?.store.open(notes).count({})).to.equal(0)
    })

    it("keeps file, log and backup from other users", async () => {
      await open()
      await fill(1, 100)
      for (const name of readdirSync(join(folder, "data"))) {
        const { mode } = statSync(join(folder, "data", name))
        expect([name, (mode & 0o077).toString(8)]).to.deep.equal([name, "0"])
      }
      await backUp(file, join(folder, "good"), now)
      expect(statSync(join(folder, "good")).mode & 0o077).to.equal(0)
    })

    it("says that a folder cannot be written to", () => {
      const closed = join(folder, "closed")
      mkdirSync(closed)
      chmodSync(folder, 0o755)
      chmodSync(closed, 0o555)
      const asAnother = (run: () => void) => {
        const root = process.geteuid?.() === 0
        if (root) process.seteuid?.(65_534)
        try {
          run()
        } finally {
          if (root) process.seteuid?.(0)
        }
      }
      asAnother(() =>
        expect(() => claimDataFile(join(closed, "millrace.db"), [])).to.throw(/closed or a file in it cannot be written to \(EACCES\)/),
      )
    })
  })

  describe("while it is in use", () => {
    const faults: (string | undefined)[] = []
    const watched = () => {
      faults.length = 0
      return open({ onFault: (fault: FileFault | undefined) => void faults.push(fault?.reason) })
    }

    it("that is deleted takes nothing further", async () => {
      const { store } = await watched()
      await fill(20)
      for (const name of readdirSync(join(folder, "data"))) if (!name.endsWith(".lock")) rmSync(join(folder, "data", name))
      const refused = await refusalOf(put(20))
      expect([refused.code, refused.details.reason]).to.deep.equal(["unavailable", "storage_missing"])
      expect(refused.message).to.include(`${file} was deleted or moved`)
      expect((await refusalOf(store.ready())).details.reason).to.equal("storage_missing")
      expect(faults).to.deep.equal(["storage_missing"])
      await stop()
      expect(readdirSync(join(folder, "data")).filter((name) => !name.endsWith(".lock"))).to.deep.equal([])
    })

    it("whose folder is moved takes nothing until it is moved back, and then all goes on", async () => {
      const { store } = await watched()
      await fill(20)
      renameSync(join(folder, "data"), join(folder, "moved"))
      expect((await refusalOf(put(20))).details.reason).to.equal("storage_missing")
      expect((await refusalOf(put(21))).details.reason).to.equal("storage_missing")
      renameSync(join(folder, "moved"), join(folder, "data"))
      await store.ready()
      await put(22)
      expect(faults).to.deep.equal(["storage_missing", undefined])
      await stop()
      await open()
      expect(await opened?.store.open(notes).count({ n: { $gte: 21 } })).to.equal(1)
    })

    it("in which a page turns out to be damaged is not written again", async () => {
      const { store } = await watched()
      await fill(2_000)
      await carryLogOver(file)
      // Pages of documents in the middle; documents in memory are still found.
      scribble(60 * 8_192, 40 * 8_192)
      const read = await refusalOf(store.open(notes).find({ text: "nothing" }))
      expect([read.code, read.details.reason]).to.deep.equal(["unavailable", "storage_corrupt"])
      expect(read.message).to.include(file)
      const bytes = readFileSync(`${file}-wal`)
      expect((await refusalOf(put(3_000))).details.reason).to.equal("storage_corrupt")
      expect((await refusalOf(store.ready())).details.reason).to.equal("storage_corrupt")
      expect(faults).to.deep.equal(["storage_corrupt"])
      expect(readFileSync(`${file}-wal`).equals(bytes)).to.equal(true)
    })

    it("shows the documents around a damaged one, and refuses what is about that one alone", async () => {
      const unreadable: string[] = []
      const { store } = await open({ onUnreadable: (collection) => void unreadable.push(collection) })
      await fill(10)
      const raw = new DatabaseSync(file)
      raw.exec("UPDATE notes SET data=substr(data,1,40) WHERE n=5")
      raw.close()
      const ids = (await store.open(notes).find({}, { sort: { n: 1 }, limit: 9 })).map(({ n }) => n)
      expect(ids).to.deep.equal([0, 1, 2, 3, 5, 6, 7, 8, 9])
      expect((await store.open(notes).find({ text: { $exists: true } })).length).to.equal(9)
      expect(new Set(unreadable)).to.deep.equal(new Set(["notes"]))
      const unread = await refusalOf(store.open(notes).get("note-4"))
      expect([unread.code, unread.details.reason]).to.deep.equal(["data_loss", "document_unreadable"])
      const update = { kind: "update", collection: notes, id: "note-4", update: { $set: { n: 0 } } } as const
      const change = refusalOf(store.commit({ id: "change", writes: [update] }))
      await put(11)
      expect((await change).code).to.equal("data_loss")
      await store.commit({ id: "remove", writes: [{ kind: "remove", collection: notes, id: "note-4" }] })
      expect((await store.open(notes).find({})).length).to.equal(10)
    })
  })

  it("tells at start how much a damaged log has lost, and keeps what is left of it", async () => {
    await open()
    // A reader that stays at its position: until it ends, no checkpoint completes and the log does not restart.
    const reader = new DatabaseSync(file)
    reader.exec("BEGIN; SELECT count(*) FROM notes")
    await fill(200)
    const other = join(folder, "other")
    mkdirSync(other)
    for (const suffix of ["", "-wal", "-commits"]) copyFileSync(file + suffix, join(other, "millrace.db") + suffix)
    reader.close()
    await stop()
    file = join(other, "millrace.db")
    const log = readFileSync(`${file}-wal`)
    log.writeUInt8(log.readUInt8(log.length >> 1) ^ 1, log.length >> 1)
    writeFileSync(`${file}-wal`, log)

    const losses: LostCommits[] = []
    await open({ onLost: (lost) => void losses.push(lost) })
    const noteCount = Number(await opened?.store.open(notes).count({}))
    expect(noteCount).to.be.greaterThan(20).and.below(180)
    expect(losses.map(({ groups }) => groups)).to.deep.equal([200 - noteCount])
    expect(Date.parse(losses[0]?.at ?? "")).to.be.closeTo(Date.now(), 600_000)
    expect(readFileSync(String(losses[0]?.log)).equals(log)).to.equal(true)
    await fill(5, 1_000)
    await stop()
    await open({ onLost: (lost) => void losses.push(lost) })
    expect(losses.length).to.equal(1)
  })
})
