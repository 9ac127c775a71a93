// Secrets of pipeline files from variables, over many starts.
import { expect } from "chai"
import type { TestHost } from "#core/testing"
import { post } from "../../pipeline/bench.ts"
import { FilePlaces, get, warned } from "./file-places.ts"

const variable = "TEST_FILE_PIPELINE_SECRET"

describe("pipeline files", () => {
  const places = new FilePlaces()
  afterEach(async () => {
    await places.remove()
    delete process.env[variable]
  })

  it("take another secret that their variable holds, end the one before, and keep one that was rotated on the server", async () => {
    const { write, boot } = places.make()
    write(
      "a.yaml",
      `name: Turned\nstate: active\nauth_mode: shared_secret_header\nauth_config: { secret: { from_env: ${variable} } }\npipeline: []\n`,
    )
    const bootWith = (secret: string) => {
      process.env[variable] = secret
      return boot()
    }
    const statuses = async (host: TestHost, ...secrets: string[]) => {
      const { inbound_url } = await get(host, "turned")
      return Promise.all(secrets.map(async (secret) => (await post(inbound_url, {}, { "x-webhook-secret": secret })).status))
    }
    const first = await bootWith("leaked-SECRET-one")
    expect(await statuses(first, "leaked-SECRET-one", "fresh-SECRET-two-two")).to.deep.equal([200, 401])
    const second = await bootWith("fresh-SECRET-two-two")
    expect(await statuses(second, "leaked-SECRET-one", "fresh-SECRET-two-two")).to.deep.equal([401, 200])
    const { revision } = await get(second, "turned")
    // The same secret, or no secret, is not a change.
    expect(await get(await boot(), "turned")).to.include({ revision })
    delete process.env[variable]
    expect(await get(await boot(), "turned")).to.include({ revision, state: "active" })

    const third = await bootWith("fresh-SECRET-two-two")
    const { body } = await third.api<{ secret: string }>("POST", "/v1/event-pipelines/turned/rotate-secret", {})
    const stale = await boot()
    expect(warned(stale).join()).to.include("the secret was rotated on the server since")
    expect(await statuses(stale, "fresh-SECRET-two-two", body.secret)).to.deep.equal([401, 200])
    // Once the variable has the current secret, its changes apply again.
    expect(warned(await bootWith(body.secret))).to.deep.equal([])
    const last = await bootWith("last-SECRET-three")
    expect(warned(last)).to.deep.equal([])
    expect(await statuses(last, body.secret, "last-SECRET-three")).to.deep.equal([401, 200])
    const logged = [first, second, third, stale, last].flatMap((host) => host.logged).join()
    expect(logged)
      .not.to.match(/SECRET-(?:one|two|three)/)
      .and.not.include(body.secret)
  })
})
