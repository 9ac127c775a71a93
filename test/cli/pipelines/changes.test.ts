// Changes detected by `test --watch`, including changes while tests run.
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import { Changes } from "../../../plugins/capture/pipeline-files/commands/test/command.ts"
import { CommandFolder } from "./command.ts"

describe("watched folders", () => {
  let folder: CommandFolder
  let changes: Changes
  /** Watches more files than the other watcher. Its events prove that earlier changes have been delivered. */
  let witness: Changes
  beforeEach(() => {
    folder = new CommandFolder()
    changes = new Changes()
    witness = new Changes()
    const [first, second, nowhere] = ["one", "other", "nowhere"].map((name) => join(folder.path, name)) as [string, string, string]
    for (const path of [first, second]) mkdirSync(path)
    changes.watch([first, nowhere])
    witness.watch([first, second])
  })
  afterEach(() => {
    changes.stop()
    witness.stop()
    folder.remove()
  })

  const witnessed = async (file: string) => {
    const visited = new Set<string>()
    while (!visited.has(file)) for (const changed of (await witness.next()) ?? []) visited.add(changed)
  }

  it("tell what changed while nobody waited for it", async () => {
    for (const name of ["a.yaml", "b.yaml"]) {
      const file = folder.write(`one/${name}`, "name: Changed\n")
      await witnessed(file)
      await witnessed(folder.write(`other/${name}`, ""))
      expect(await changes.next()).to.deep.equal(new Set([file]))
    }
  })

  it("tell nothing more once that was ended, whether somebody waits or not", async () => {
    const waiting = changes.next()
    for (const item of [changes, witness]) item.stop()
    expect(await waiting).to.equal(undefined)
    expect(await witness.next()).to.equal(undefined)
  })
})
