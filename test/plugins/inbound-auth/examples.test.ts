// The examples of every auth mode. A pipeline of each accepts its sender's signed event. With a secret, it refuses events signed
// with another secret or unsigned.
import { join } from "node:path"
import { expect } from "chai"
import { parse } from "yaml"
import { frameworkRoot } from "../../../core/bootstrap/plugins.ts"
import { type AnyAuthMode, AuthModes } from "../../../core/contract/auth-mode.ts"
import { loadConfig } from "../../../core/kernel/config.ts"
import { PipelineDocument } from "../../../core/pipeline/document.ts"
import { PipelineHarness, type SentEvent } from "../../../core/rehearsal/harness.ts"
import { Rehearsal } from "../../../core/rehearsal/rehearsal.ts"

const { config } = loadConfig({ defaults: join(frameworkRoot, "config/default.yaml"), env: {} })

describe("examples of auth modes", () => {
  let rehearsal: Rehearsal
  let modes: AnyAuthMode[]
  before(async () => {
    rehearsal = await Rehearsal.open({ config, root: frameworkRoot })
    modes = rehearsal.runtime.registry.items(AuthModes)
  })
  after(() => rehearsal.stop())

  it("are there for each, and what a sender signs by them is accepted", async () => {
    expect(modes.map(({ mode }) => mode)).to.include.members(["hmac_sha256", "provider_signature"])
    for (const { mode, examples = [] } of modes) {
      expect(examples, mode).not.to.have.length(0)
      for (const { title, yaml } of examples) {
        const document = PipelineDocument.parse({ name: "Example", ...(parse(yaml) as object) })
        expect(document.auth_mode, title).to.equal(mode)
        const harness = await PipelineHarness.in(rehearsal, "example")
        const pipeline = await harness.make(document)
        const page = pipeline.stored.document.owner_artifact_id
        const body = { email: "ada@example.com", ...(page === null ? {} : { _envelope: { artifact_id: page } }) }
        const event = (signWith: SentEvent["signWith"]): SentEvent => ({
          method: "POST",
          headers: { "content-type": "application/json" },
          query: {},
          body: Buffer.from(JSON.stringify(body)),
          signWith,
        })
        const accepted = await harness.send(pipeline, event({ secret: "" }))
        expect(accepted.entry.verdict, `${mode}: ${title}`).to.include({ ok: true, mode })
        if (pipeline.secret === undefined) continue
        for (const signWith of [undefined, { secret: "another-secret-of-the-same-length-or-so" }]) {
          const { entry, response } = await harness.send(pipeline, event(signWith))
          expect([entry.verdict.ok, entry.status, response.status], `${mode}: ${title}`).to.deep.equal([false, "rejected", 401])
        }
      }
    }
  })
})
