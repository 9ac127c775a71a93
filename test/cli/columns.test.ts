// Columns declared by operations for their lists.
import { expect } from "chai"
import { z } from "zod"
import { frameworkRoot, loadDeclarations } from "../../core/bootstrap/plugins.ts"
import { tableText } from "../../core/cli/operations/show.ts"
import { Operations } from "../../core/contract/operation.ts"
import { loadConfig } from "../../core/kernel/config.ts"

interface Shown {
  readonly type?: string
  readonly items?: Shown
  readonly anyOf?: readonly Shown[]
  readonly properties?: Readonly<Record<string, Shown>>
}

describe("columns of lists", () => {
  it("are fields of what the operation lists", async () => {
    const { config } = loadConfig({ defaults: `${frameworkRoot}/config/default.yaml`, env: {} })
    const { registry } = await loadDeclarations({ config, root: frameworkRoot })
    const declared = registry.items(Operations).filter(({ columns }) => columns !== undefined)
    expect(declared.map(({ name }) => name)).to.include.members(["event_pipelines.list", "event_pipelines.list_executions", "jobs.list"])
    for (const { name, output, columns = [] } of declared) {
      const schema = z.toJSONSchema(output, { io: "output", unrepresentable: "any" }) as Shown & { $defs?: Record<string, Shown> }
      const list = Object.values(schema.properties ?? {}).find(({ type }) => type === "array")?.items as
        | (Shown & { $ref?: string })
        | undefined
      const item = list?.$ref ? schema.$defs?.[list.$ref.split("/").at(-1) ?? ""] : list
      for (const column of columns) expect(Object.keys(item?.properties ?? {}), `${name}: ${column}`).to.include(column.split(".")[0])
    }
  })

  it("stand first, and what became of an event is seen in a hundred characters", () => {
    const execution = {
      id: "0198c0de-0000-7000-8000-000000000001",
      pipeline_id: "0198c0de-0000-7000-8000-000000000002",
      pipeline_slug: "a-pipeline-with-a-long-name-of-its-own",
      revision: 3,
      status: "failed",
      cause: "action_failed",
      error: { code: "unknown", message: "It did not work.", step: "tell_sales" },
      received_at: "2026-01-02T03:04:05.678Z",
    }
    const columns = ["received_at", "status", "cause", "id", "error.step"]
    const text = tableText([execution], 100, columns)
    expect(text.split("\n")[0]).to.match(/^RECEIVED_AT +STATUS +CAUSE +ID/)
    expect(text).to.include("failed").and.include("action_failed")
    expect(
      Math.max(
        ...text
          .split("\n")
          .slice(0, 2)
          .map((line) => line.length),
      ),
    ).to.be.at.most(100)
    expect(text).to.match(/Also: .*pipeline_slug/)
  })
})
