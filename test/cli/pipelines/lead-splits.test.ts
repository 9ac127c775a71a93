// Pipelines that capture leads, for `validate` and for a save: they upsert by an email column.
import { join } from "node:path"
import { expect } from "chai"
import { testHost } from "#core/testing"
import { projectRoot } from "../../import-graph.ts"
import { CommandFolder } from "./command.ts"

const writing = (dataset_slug: string, key: string) => ({ id: "save", type: "dataset.write", dataset_slug, key })

describe("split leads", () => {
  it("are not what other writers keep, in files beside each other", async () => {
    const folder = new CommandFolder()
    const file = (name: string, dataset: string, key: string) =>
      folder.write(`${name}.yaml`, JSON.stringify({ name, state: "active", auth_mode: "none", pipeline: [writing(dataset, key)] }))
    try {
      file("form", "leads", "email")
      file("payments", "payments", "payment")
      file("inbox", "messages", "message_id")
      const { output } = await folder.run(["validate", "form.yaml", "payments.yaml", "inbox.yaml"])
      expect(output).to.not.include("split-leads-dataset")
      file("chat", "chat-leads", "e_mail")
      const { output: split } = await folder.run(["validate", "form.yaml", "payments.yaml", "inbox.yaml", "chat.yaml"])
      expect(split).to.include('"chat" to chat-leads').and.not.include('"payments" to')
      const shipped = await folder.run(["validate", join(projectRoot, "pipelines")])
      expect([shipped.code, shipped.output.trim()]).to.deep.equal([0, "6 files, 0 errors, 0 warnings"])
    } finally {
      folder.remove()
    }
  })

  it("are not what other writers keep, at a save", async () => {
    const host = await testHost()
    const warnings = async (name: string, dataset: string, key: string) => {
      const document = { name, state: "active", auth_mode: "none", pipeline: [writing(dataset, key)] }
      const lines = await host.invoke<{ warnings: string[] }>("event_pipelines.create", document)
      return lines.warnings.filter((text) => text.startsWith("split-leads-dataset"))
    }
    try {
      expect(await warnings("Payments", "payments", "payment")).to.deep.equal([])
      expect(await warnings("Form", "leads", "email")).to.deep.equal([])
      expect(await warnings("Inbox", "messages", "message_id")).to.deep.equal([])
      const [split = ""] = await warnings("Chat", "chat-leads", "email")
      expect(split).to.include("default.leads").and.not.include("payments")
    } finally {
      await host.stop()
    }
  })
})
