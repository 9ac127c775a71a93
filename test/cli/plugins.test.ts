// `millrace plugins`: the plugins and their extension points, for people, programs and documents.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { expect } from "chai"
import { projectRoot } from "../import-graph.ts"
import { runIn } from "./command-line.ts"

const core = pathToFileURL(join(projectRoot, "core/index.ts")).href
const email = pathToFileURL(join(projectRoot, "plugins/people/email/index.ts")).href

/** Extends Millrace's mail, and declares an extension point without users. */
const own = `
import { z } from ${JSON.stringify(import.meta.resolve("zod"))}
import { defineExtensionPoint, definePlugin } from "${core}"
import { MailGuards } from "${email}"

const Offers = defineExtensionPoint({ id: "quiet-hours.offers" })
export default definePlugin({
  id: "quiet-hours",
  needs: ["email"],
  config: z.strictObject({}),
  extensionPoints: [Offers],
  extend: [[MailGuards, { withheld: async () => [], refused: async () => undefined }]],
  register() {},
})
`

describe("millrace plugins", () => {
  let folder: string
  const run = async (...args: string[]) => {
    const { code, output } = await runIn(folder, ["plugins", ...args])
    expect(code, output).to.equal(0)
    return output
  }
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "millrace-plugins-"))
    mkdirSync(join(folder, "plugins/quiet-hours"), { recursive: true })
    writeFileSync(join(folder, "plugins/quiet-hours/index.ts"), own)
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  it("lists each plugin with its folder", async () => {
    const output = await run()
    expect(output).to.match(/^email +\S*plugins\/people\/email\/index\.ts$/m)
    expect(output).to.match(/^quiet-hours +\S*plugins\/quiet-hours\/index\.ts$/m)
  })

  it("shows extension points with their users, and the needs of plugins", async () => {
    const output = await run("--graph")
    expect(output).to.match(/^ {2}email\.guards +extended by .*\bsuppressions\b.*, quiet-hours$/m)
    expect(output).to.match(/^ {2}quiet-hours\.offers +no plugin extends it$/m)
    expect(output).to.match(/^ {2}quiet-hours +needs email$/m)
  })

  it("prints the graph as JSON", async () => {
    const { plugins, extension_points } = JSON.parse(await run("--graph", "--json"))
    expect(plugins).to.deep.include({ id: "quiet-hours", needs: ["email"] })
    expect(extension_points).to.deep.include({ id: "quiet-hours.offers", plugin: "quiet-hours", required: false, extended_by: [] })
    const links = { id: "approvals.links", plugin: "approvals", required: false, extended_by: ["console"] }
    expect(extension_points).to.deep.include(links)
  })

  it("prints the graph as Mermaid", async () => {
    const lines = (await run("--graph", "--format", "mermaid")).split("\n")
    expect(lines).to.include.members([
      "flowchart LR",
      '  n_email_guards(["email.guards"])',
      "  n_email --- n_email_guards",
      "  n_quiet_hours -. extends .-> n_email_guards",
      "  n_quiet_hours --> n_email",
    ])
  })
})
