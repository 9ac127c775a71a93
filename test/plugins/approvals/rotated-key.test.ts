// Pending approvals during a replacement of the master key: the approved input equals the requested input.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { Store } from "#core"
import { frameworkRoot } from "../../../core/bootstrap/runtime.ts"
import { rotateMasterKey } from "../../../core/cli/rotate-master-key.ts"
import { loadConfig } from "../../../core/kernel/config.ts"
import { onBothStores } from "../../pipeline/stores.ts"
import { until } from "../../waiting.ts"
import { gatedNotes, memberOf, NoteCollection } from "./gated-notes.ts"

interface Approval {
  readonly state: string
  readonly digest: string
  readonly receipt: { readonly ok: boolean; readonly digest: string } | null
}

onBothStores("approvals, and another master key", ({ start, storage }) => {
  const dataDir = mkdtempSync(join(tmpdir(), "millrace-approvals-"))
  after(() => rmSync(dataDir, { recursive: true, force: true }))

  it("are carried out with the digest that they were filed with, also one that was edited", async () => {
    const env = await storage()
    const options = { env, dataDir, plugins: [gatedNotes] }
    const first = await start(options)
    const ids: string[] = []
    for (const text of ["Plain", "Edited"]) {
      const { body } = await first.api<{ approval_id: string }>("POST", "/v1/gated-notes", { text, api_key: "k-12345678" })
      ids.push(body.approval_id)
    }
    const [plain = "", edited = ""] = ids
    const approval = (await first.api<Approval>("GET", `/v1/approvals/${plain}`)).body
    expect(approval).to.not.have.any.keys("digest_key", "removed_at", "sealed")
    expect(approval.digest).to.not.equal((await first.api<Approval>("GET", `/v1/approvals/${edited}`)).body.digest)
    const { key } = await memberOf(first, "second")
    await first.stop()
    const variables = { MILLRACE_DATA_DIR: dataDir, MILLRACE_LOG_LEVEL: "silent", ...env }
    const rotated = await rotateMasterKey(loadConfig({ defaults: join(frameworkRoot, "config/default.yaml"), env: variables }).config)
    expect(rotated).to.match(/secrets were re-encrypted/)

    const host = await start(options)
    const decide = (id: string, body: object) => host.api<Approval>("POST", `/v1/approvals/${id}/decide`, body, { key })
    expect((await decide(plain, { decision: "approve", digest: approval.digest })).status).to.equal(200)
    const half = await decide(edited, { decision: "edit", input: { text: "Half a \ud83d", api_key: "[redacted]" } })
    expect([half.status, JSON.stringify(half.body)]).to.satisfy(
      ([status, body]: [number, string]) => status === 400 && body.includes("input.text"),
    )
    expect((await decide(edited, { decision: "edit", input: { text: "Edited by hand", api_key: "[redacted]" } })).status).to.equal(200)
    for (const id of ids) {
      const decided = await until("the receipt", async () => {
        const { body } = await host.api<Approval>("GET", `/v1/approvals/${id}`)
        return body.receipt ? body : undefined
      })
      expect([decided.state, decided.receipt?.ok, decided.receipt?.digest]).to.deep.equal(["done", true, decided.digest])
    }
    const notes = await host.get(Store).open(NoteCollection, host.organization.id).find({})
    expect(notes.map(({ text, api_key }) => [text, api_key])).to.have.deep.members([
      ["Plain", "k-12345678"],
      ["Edited by hand", "k-12345678"],
    ])
  })
})
