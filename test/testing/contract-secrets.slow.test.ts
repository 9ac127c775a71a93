// The contract checks every place of an action's config for leaked secrets.
import { expect } from "chai"
import { z } from "zod"
import { defineAction, template } from "#core"
import { tried } from "./contract-bench.ts"

const note = { note: template(z.string()).optional() }

/** Makes an action log and return its whole config. Returns the contract's findings. */
async function saidOf(fields: z.ZodRawShape, example = "") {
  const leaking = defineAction({
    type: "sample.act",
    summary: "Act.",
    timing: "commit",
    config: z.strictObject({ ...note, ...fields }),
    result: z.object({ got: z.string() }),
    examples: [{ title: "Act", yaml: `type: sample.act\n${example}` }],
    run({ config, context }) {
      context.log.info(JSON.stringify(config))
      return { got: JSON.stringify(config) }
    },
  })
  return Object.values((await tried(leaking, /secrets/)).failed).join()
}

describe("the contract of action types, of secrets", () => {
  it("finds one in camel case, in an object within, in a list and in a record", async () => {
    const login = z.strictObject({ user: z.string(), password: z.string() })
    for (const fields of [
      { apiKey: z.string().optional() },
      { auth: login.optional() },
      { accounts: z.array(z.strictObject({ token: z.string() })).optional() },
      { tenants: z.record(z.string(), z.strictObject({ label: z.string(), client_secret: template(z.string()) })).optional() },
    ])
      expect(await saidOf(fields), Object.keys(fields).join()).to.include("A secret of its config appears in the journal")
  })

  it("looks for the example's own where the schema takes no other", async () => {
    const key = { api_key: z.string().regex(/^sk_[a-z]+$/) }
    expect(await saidOf(key, "api_key: sk_example")).to.include("A secret of its config appears in the journal")
    const short = { signing_secret: z.string().max(10) }
    expect(await saidOf(short, "signing_secret: 'w\"tsecret1'")).to.include("A secret of its config appears in the journal")
  })

  it("says which field no secret could be tried in", async () => {
    const auth = z.strictObject({ tenant: z.string().regex(/^t\d+$/), password: z.string() }).optional()
    const message = await saidOf({ auth, signing_secret: z.string().max(10) }, "signing_secret: short")
    expect(message).to.include("No secret could be tried in /auth/password, /signing_secret: give an example")
  })

  it("asks for none in fields that hold no text of their own", async () => {
    const fields = {
      with_token: z.boolean().optional(),
      auth_token: z.enum(["header", "query"]).optional(),
      pin_token: z.string().max(4).optional(),
    }
    expect(await saidOf(fields)).to.equal("")
  })
})
