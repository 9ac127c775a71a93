// `millrace rotate-master-key` beside a running service.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { testHost } from "#core/testing"
import { BootError } from "../../core/kernel/config.ts"
import { failureOf } from "../refusal.ts"
import { runMillrace } from "./command-line.ts"

describe("millrace rotate-master-key", () => {
  it("names the running service and the remedy", async () => {
    const folder = mkdtempSync(join(tmpdir(), "millrace-rotate-"))
    const host = await testHost({ dataDir: folder })
    try {
      const error = await failureOf(
        runMillrace(["rotate-master-key"], { env: { MILLRACE_DATA_DIR: folder, MILLRACE_LOG_LEVEL: "silent" } }),
      )
      expect(error).to.be.instanceOf(BootError)
      expect(error.message).to.match(/millrace\.db is in use by another running process\. Stop that one first/)
    } finally {
      await host.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
