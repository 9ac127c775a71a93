// `millrace pipelines test --watch` with changes beyond a single pipeline; test-files.test.ts has the plain case.

import { expect } from "chai"
import { outputUntil } from "../../processes.ts"
import { CommandFolder } from "./command.ts"

describe("pipelines test --watch", () => {
  let folder: CommandFolder
  beforeEach(() => {
    folder = new CommandFolder()
  })
  afterEach(() => folder.remove())

  it("notices the first test of a folder that had none", async () => {
    folder.write("pipelines/w.yaml", "name: W\nauth_mode: none\npipeline: [{ type: respond, status: 201 }]\n")
    const child = folder.start(["test", "--watch"])
    try {
      await outputUntil(child, /Watching/)
      const ran = outputUntil(child, /1 passed/)
      folder.write("pipelines/w.test.yaml", "tests: [{ name: answers, event: { body: {} }, expect: { response: { status: 201 } } }]\n")
      expect(await ran).to.include("✓ answers")
    } finally {
      const ended = new Promise((resolve) => child.once("close", resolve))
      child.kill("SIGTERM")
      await ended
    }
  })

  it("runs again, with what is there then, when a plugin changes", async () => {
    folder.write("plugins/notes.md", "one\n")
    folder.write("pipelines/w.yaml", "name: W\nauth_mode: none\npipeline: [{ type: respond, status: 201 }]\n")
    folder.write("pipelines/w.test.yaml", "tests: [{ name: answers, event: { body: {} }, expect: { response: { status: 201 } } }]\n")
    const child = folder.start(["test", "--watch"])
    try {
      await outputUntil(child, /1 passed[\s\S]*Watching/)
      const again = outputUntil(child, /1 passed/)
      folder.write("plugins/notes.md", "two\n")
      expect(await again).to.include("✓ answers")
    } finally {
      const ended = new Promise((resolve) => child.once("close", resolve))
      child.kill("SIGTERM")
      await ended
    }
  })
})
