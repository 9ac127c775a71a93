// Pipelines from files: changed files are applied at start but never overwrite a change on the server. Invalid files are refused
// with all their errors.
import { expect } from "chai"
import type { TestHost } from "#core/testing"
import { Bench, type Made, post } from "../../pipeline/bench.ts"
import { FilePlaces, get, warned } from "./file-places.ts"

const variable = "TEST_FILE_PIPELINE_SECRET"

describe("pipeline files", () => {
  const places = new FilePlaces()
  afterEach(() => places.remove())
  const place = () => places.make()

  describe("over three starts", () => {
    const ownPlaces = new FilePlaces()
    /** State after each start. */
    const starts: { readonly stored: Record<string, Made & { name: string; revision: number }>; readonly warned: string[] }[] = []
    const logged: string[] = []
    let last: TestHost
    let secret: string
    before(async () => {
      const { write, boot } = ownPlaces.make()
      const start = async () => {
        last = await boot()
        const stored: (typeof starts)[0]["stored"] = {}
        for (const slug of ["from-file", "drifting", "secretive", "from-env"]) stored[slug] = await get(last, slug)
        starts.push({ stored, warned: warned(last) })
      }
      const filed = "state: active\nauth_mode: none\npipeline:\n  - { type: dataset.write, dataset_slug: filed }\n"
      write("a.yaml", `name: From file\n${filed}`)
      write("a.test.yaml", "this: is not a pipeline\n")
      write("b.yaml", "name: Drifting\nauth_mode: none\npipeline: []\n")
      const guarded = "state: active\nauth_mode: shared_secret_header\npipeline: []\n"
      write("c.yaml", `name: Secretive\n${guarded}`)
      write("d.yaml", `name: From env\nauth_config: { secret: { from_env: ${variable} } }\n${guarded}`)
      await start()
      logged.push(...last.logged)
      await last.api("PUT", "/v1/event-pipelines/drifting", { name: "Changed by hand" })
      secret = (await last.api<{ secret: string }>("POST", "/v1/event-pipelines/secretive/rotate-secret", {})).body.secret
      process.env[variable] = "env-SECRET-12-and-more"
      await start()
      logged.push(...last.logged)
      write("a.yaml", `slug: from-file\nname: Renamed\n${filed}`)
      write("b.yaml", "slug: drifting\nname: Changed in the file\nauth_mode: none\npipeline: []\n")
      write("c.yaml", `slug: secretive\nname: Secretive two\n${guarded}`)
      delete process.env[variable]
      await start()
      logged.push(...last.logged)
    })
    after(() => ownPlaces.remove())
    const pipelinesOf = (slug: string) => starts.map(({ stored }) => stored[slug])
    const sendTo = async (slug: string, input: string) =>
      (await post(starts[2]?.stored[slug]?.inbound_url ?? "", {}, { "x-webhook-secret": input })).status

    it("are applied once, and again only where they changed", () => {
      expect(
        pipelinesOf("from-file").map((pipeline) => [pipeline?.revision, pipeline?.name, pipeline?.state, pipeline?.purpose]),
      ).to.deep.equal([
        [1, "From file", "active", "record_capture"],
        [1, "From file", "active", "record_capture"],
        [2, "Renamed", "active", "record_capture"],
      ])
    })

    it("never overwrite what was changed on the server since, and say so", () => {
      expect(pipelinesOf("drifting").map((pipeline) => [pipeline?.revision, pipeline?.name])).to.deep.equal([
        [1, "Drifting"],
        [2, "Changed by hand"],
        [2, "Changed by hand"],
      ])
      const about = (start: number) => starts[start]?.warned.filter((text) => !text.includes(variable))
      expect(about(0)).to.deep.equal([])
      for (const start of [1, 2]) {
        expect(about(start)).to.have.length(1)
        expect(about(start)?.[0]).to.include("b.yaml").and.to.include("the server's version is kept")
      }
    })

    it("do not take a rotated secret for a change", async () => {
      expect(pipelinesOf("secretive").map((pipeline) => [pipeline?.revision, pipeline?.name])).to.deep.equal([
        [1, "Secretive"],
        [2, "Secretive"],
        [3, "Secretive two"],
      ])
      expect(await sendTo("secretive", secret)).to.equal(200)
      expect(logged.join()).not.to.include("whsec_")
    })

    it("wait as proposed for a variable that is not set, take its secret when it is, and keep it", async () => {
      expect(pipelinesOf("from-env").map((pipeline) => pipeline?.state)).to.deep.equal(["proposed", "active", "active"])
      expect(starts.map(({ warned }) => warned.filter((text) => text.includes(variable)).length)).to.deep.equal([1, 0, 1])
      expect([await sendTo("from-env", "env-SECRET-12-and-more"), await sendTo("from-env", "other")]).to.deep.equal([200, 401])
      expect(logged.join()).not.to.include("env-SECRET-12-and-more")
    })
  })

  it("are applied side by side, all of them, and leads that they split are warned of once all are there", async () => {
    const { write, boot } = place()
    const capture = (name: string, dataset: string) =>
      `name: ${name}\nstate: active\nauth_mode: none\npipeline:\n  - { type: dataset.write, dataset_slug: ${dataset}, key: email }\n`
    for (let n = 0; n < 12; n++) write(`many-${n}.yaml`, capture(`Many ${n}`, "leads"))
    write("z.yaml", capture("Stray", "leads-2"))
    const host = await boot()
    const response = await host.api<{ event_pipelines: { slug: string; revision: number; write_target_datasets: string[] }[] }>(
      "GET",
      "/v1/event-pipelines?limit=200",
    )
    expect(response.body.event_pipelines).to.have.length(13)
    expect(new Set(response.body.event_pipelines.map(({ revision }) => revision))).to.deep.equal(new Set([1]))
    expect(new Set(response.body.event_pipelines.flatMap((pipeline) => pipeline.write_target_datasets))).to.deep.equal(
      new Set(["default.leads", "default.leads-2"]),
    )
    const datasets = await host.api<{ datasets: { slug: string }[] }>("GET", "/v1/datasets")
    expect(datasets.body.datasets.map(({ slug }) => slug).sort()).to.deep.equal(["leads", "leads-2"])
    const split = warned(host).filter((text) => text.startsWith("split-leads-dataset"))
    expect(split).to.have.length(13)
    expect(split.filter((text) => text.includes('"stray" to default.leads-2'))).to.have.length(12)
    // Without a change, no warning repeats.
    expect(warned(await boot())).to.deep.equal([])
  })

  it("are refused together, each problem with file, line and column, also what cannot be read", async () => {
    const { write, link, boot } = place()
    write("a.yaml", "name: Broken\nauth_mode: none\npipeline:\n  - type: dataset.wirte\n    dataset_slug: x\n")
    write("b.yaml", "name: Literal\nauth_mode: hmac_sha256\nauth_config: { secret: literal-SECRET }\npipeline: []\n")
    write("c.yaml", "name: [unfinished\n")
    write("d.yaml", "name: Fine\nauth_mode: none\npipeline: []\n")
    link("gone.yaml", "nowhere.yaml")
    write("latin.yaml", Buffer.from("name: Grüße\n", "latin1"))
    const failure = await boot().then(
      () => undefined,
      (error: unknown) => error as Error,
    )
    expect(failure?.message)
      .to.match(/a\.yaml:4:\d+: /)
      .and.to.match(/b\.yaml:3:\d+: /)
      .and.to.match(/c\.yaml:\d+:\d+: /)
      .and.to.match(/gone\.yaml:1:1: The file cannot be read: /)
      .and.to.match(/latin\.yaml:1:1: The file is not valid UTF-8/)
    expect(failure?.message)
      .to.include("Did you mean")
      .and.not.to.include("literal-SECRET")
      .and.not.to.include("d.yaml")
      .and.not.to.include("ENOENT")
  })

  it("are those of the folder itself whose name begins with no dot: others that may be meant are named", async () => {
    const { write, link, boot } = place()
    write("a.yaml", "name: Taken\nauth_mode: none\npipeline: []\n")
    write("crm/x.yaml", "name: Below\nauth_mode: none\npipeline: []\n")
    write("z.YAML", "name: Shouted\nauth_mode: none\npipeline: []\n")
    write("bodies/event.json", "{}")
    link(".#y.yaml", "me@host.1:2")
    write("._y.yaml", "\0\u0005\u0016\u0007")
    const host = await boot()
    const { body } = await host.api<{ event_pipelines: { slug: string }[] }>("GET", "/v1/event-pipelines")
    expect(body.event_pipelines.map(({ slug }) => slug)).to.deep.equal(["taken"])
    const messages = warned(host)
    expect(messages).to.have.length(2)
    expect(messages[0]).to.match(/crm is ignored: subfolders are not searched/)
    expect(messages[1]).to.match(/z\.YAML is ignored/)
  })

  it("are refused where they change what is fixed, or name one slug twice", async () => {
    const { write, remove, boot } = place()
    write("a.yaml", "name: Settled\nauth_mode: none\npipeline: []\n")
    await boot()
    write("a.yaml", "name: Settled\nauth_mode: shared_secret_header\npipeline: []\n")
    expect(
      (
        await boot().then(
          () => undefined,
          (error: unknown) => error as Error,
        )
      )?.message,
    ).to.match(/a\.yaml.*auth_mode/)
    write("a.yaml", "name: Settled\nauth_mode: none\npipeline: []\n")
    write("b.yaml", "name: Settled!\nauth_mode: none\npipeline: []\n")
    expect(
      (
        await boot().then(
          () => undefined,
          (error: unknown) => error as Error,
        )
      )?.message,
    ).to.match(/b\.yaml.*settled.*a\.yaml/)
    remove("b.yaml")
    const host = await boot()
    expect(await new Bench(host).entries("settled")).to.deep.equal([])
  })
})
