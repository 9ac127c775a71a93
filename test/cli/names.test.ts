// Public and stored names. Callers and stored data rely on them, so a change appears in the committed list.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import { frameworkRoot, loadDeclarations } from "../../core/bootstrap/plugins.ts"
import { nameList } from "../../core/cli/reference/names.ts"
import { loadConfig } from "../../core/kernel/config.ts"
import { projectRoot } from "../import-graph.ts"

describe("public and stored names", () => {
  it("are as reviewed: config/api.txt lists the same", async () => {
    const { config } = loadConfig({ defaults: join(frameworkRoot, "config/default.yaml"), env: {} })
    const nameListText = readFileSync(join(projectRoot, "config/api.txt"), "utf8")
    const names = nameList(await loadDeclarations({ config, root: frameworkRoot }))
    expect(names.split("\n"), "npm run generate, and say why in the commit").to.deep.equal(nameListText.split("\n"))
  })
})
