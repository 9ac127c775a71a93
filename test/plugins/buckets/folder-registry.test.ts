// Several nodes with files in a folder: all use one folder, or they do not start.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { Clock, Ids, Log, Store, UnitsOfWork } from "#core"
import type { TestHost } from "#core/testing"
import { FolderRegistry } from "../../../plugins/data/buckets/folder-registry.ts"
import { onMongo } from "../../pipeline/stores.ts"
import { refusalOf } from "../../refusal.ts"

onMongo("nodes with files in folders", ({ start }) => {
  const folders = ["one", "two"].map((name) => mkdtempSync(join(tmpdir(), `millrace-files-${name}-`)))
  const [first = "", second = ""] = folders
  let host: TestHost
  before(async () => {
    host = await start()
  })
  after(() => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  })
  const nodeOn = (folder: string, strict = true) =>
    new FolderRegistry({
      folder,
      strict,
      store: host.get(Store),
      works: host.get(UnitsOfWork),
      clock: host.get(Clock),
      ids: host.get(Ids),
      log: host.get(Log),
    })

  it("refuse to start with a folder of their own, and name the remedy", async () => {
    const own = join(host.dataDir, "buckets")
    const shared = nodeOn(own)
    await shared.start()
    for (const folder of folders) {
      const { code, details, message } = await refusalOf(nodeOn(folder).start())
      expect([code, details.reason]).to.deep.equal(["failed_precondition", "separate_bucket_folders"])
      expect(message).to.include("plugins.settings.buckets.s3").and.include(folder)
    }
    // A refused node does not count: the others start.
    const third = nodeOn(own)
    await third.start()
    await Promise.all([shared.stop(), third.stop()])
  })

  it("start outside production, with a warning", async () => {
    const node = nodeOn(first, false)
    await node.start()
    expect(host.logged.filter((line) => line.includes("keep files in another folder"))).to.have.length(1)
    await node.stop()
  })

  it("start once the nodes with another folder have stopped", async () => {
    const other = nodeOn(second, false)
    await other.start()
    expect((await refusalOf(nodeOn(join(host.dataDir, "buckets")).start())).details.reason).to.equal("separate_bucket_folders")
    await other.stop()
    const next = nodeOn(join(host.dataDir, "buckets"))
    await next.start()
    await next.stop()
  })
})
