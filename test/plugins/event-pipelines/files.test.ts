// Pipelines from files: applied at start where they changed, never over what was changed on the server, and refused
// with everything that is wrong with them.
import { expect } from "chai"
import { Bench, post } from "../../pipelines/bench.ts"
import { FilePlaces, get, warned } from "./file-places.ts"

const variable = "TEST_FILE_PIPELINE_SECRET"

describe("pipeline files", () => {
  const places = new FilePlaces()
  afterEach(async () => {
    await places.remove()
    delete process.env[variable]
  })
  const place = () => places.make()

  it("are applied once, and again only where they changed", async () => {
    const { write, boot } = place()
    write("a.yaml", "name: From file\nstate: active\nauth_mode: none\npipeline:\n  - { type: dataset.write, dataset_slug: filed }\n")
    write("a.test.yaml", "this: is not a pipeline\n")
    expect(await get(await boot(), "from-file")).to.include({ revision: 1, state: "active", purpose: "record_capture" })
    expect(await get(await boot(), "from-file")).to.include({ revision: 1 })
    write(
      "a.yaml",
      "slug: from-file\nname: Renamed\nstate: active\nauth_mode: none\npipeline:\n  - { type: dataset.write, dataset_slug: filed }\n",
    )
    const host = await boot()
    expect(await get(host, "from-file")).to.include({ revision: 2, name: "Renamed" })
    expect(warned(host)).to.deep.equal([])
  })

  it("are applied side by side, all of them, and leads that they split are warned of once all are there", async () => {
    const { write, boot } = place()
    const capture = (name: string, dataset: string) =>
      `name: ${name}\nstate: active\nauth_mode: none\npipeline:\n  - { type: dataset.write, dataset_slug: ${dataset}, key: email }\n`
    for (let n = 0; n < 40; n++) write(`many-${n}.yaml`, capture(`Many ${n}`, "leads"))
    write("z.yaml", capture("Stray", "leads-2"))
    const host = await boot()
    const listed = await host.api<{ event_pipelines: { slug: string; revision: number; write_target_datasets: string[] }[] }>(
      "GET",
      "/v1/event-pipelines?limit=200",
    )
    expect(listed.body.event_pipelines).to.have.length(41)
    expect(new Set(listed.body.event_pipelines.map(({ revision }) => revision))).to.deep.equal(new Set([1]))
    expect(new Set(listed.body.event_pipelines.flatMap((one) => one.write_target_datasets))).to.deep.equal(
      new Set(["default.leads", "default.leads-2"]),
    )
    const datasets = await host.api<{ datasets: { slug: string }[] }>("GET", "/v1/datasets")
    expect(datasets.body.datasets.map(({ slug }) => slug).sort()).to.deep.equal(["leads", "leads-2"])
    const split = warned(host).filter((text) => text.startsWith("split-leads-dataset"))
    expect(split).to.have.length(41)
    expect(split.filter((text) => text.includes('"stray" to default.leads-2'))).to.have.length(40)
    // Nothing is said again where nothing changed.
    expect(warned(await boot())).to.deep.equal([])
  })

  it("never overwrite what was changed on the server since, and say so", async () => {
    const { write, boot } = place()
    write("a.yaml", "name: Drifting\nauth_mode: none\npipeline: []\n")
    const first = await boot()
    await first.api("PUT", "/v1/event-pipelines/drifting", { name: "Changed by hand" })
    write("a.yaml", "slug: drifting\nname: Changed in the file\nauth_mode: none\npipeline: []\n")
    const second = await boot()
    expect(await get(second, "drifting")).to.include({ name: "Changed by hand", revision: 2 })
    expect(warned(second).join()).to.include("the server's version is kept")
  })

  it("do not take a rotated secret for a change", async () => {
    const { write, boot } = place()
    write("a.yaml", "name: Secretive\nstate: active\nauth_mode: shared_secret_header\npipeline: []\n")
    const first = await boot()
    expect(first.logged.join()).not.to.include("whsec_")
    const { body } = await first.api<{ secret: string }>("POST", "/v1/event-pipelines/secretive/rotate-secret", {})
    write("a.yaml", "slug: secretive\nname: Secretive two\nstate: active\nauth_mode: shared_secret_header\npipeline: []\n")
    const second = await boot()
    const stored = await get(second, "secretive")
    expect(stored).to.include({ name: "Secretive two", revision: 3 })
    expect((await post(stored.inbound_url, {}, { "x-webhook-secret": body.secret })).status).to.equal(200)
    expect(warned(second)).to.deep.equal([])
  })

  it("wait as proposed for a variable that is not set, and take its secret when it is", async () => {
    const { write, boot } = place()
    write(
      "a.yaml",
      `name: From env\nstate: active\nauth_mode: shared_secret_header\nauth_config: { secret: { from_env: ${variable} } }\npipeline: []\n`,
    )
    const first = await boot()
    expect(await get(first, "from-env")).to.include({ state: "proposed" })
    expect(warned(first).join()).to.include(variable)
    process.env[variable] = "env-SECRET-12"
    const second = await boot()
    const stored = await get(second, "from-env")
    expect(stored).to.include({ state: "active" })
    expect((await post(stored.inbound_url, {}, { "x-webhook-secret": "env-SECRET-12" })).status).to.equal(200)
    expect((await post(stored.inbound_url, {}, { "x-webhook-secret": "other" })).status).to.equal(401)
    delete process.env[variable]
    const third = await boot()
    expect(await get(third, "from-env")).to.include({ state: "active" })
    expect((await post((await get(third, "from-env")).inbound_url, {}, { "x-webhook-secret": "env-SECRET-12" })).status).to.equal(200)
    expect([...first.logged, ...second.logged, ...third.logged].join()).not.to.include("env-SECRET-12")
  })

  it("are refused together, each problem with file, line and column", async () => {
    const { write, boot } = place()
    write("a.yaml", "name: Broken\nauth_mode: none\npipeline:\n  - type: dataset.wirte\n    dataset_slug: x\n")
    write("b.yaml", "name: Literal\nauth_mode: hmac_sha256\nauth_config: { secret: literal-SECRET }\npipeline: []\n")
    write("c.yaml", "name: [unfinished\n")
    write("d.yaml", "name: Fine\nauth_mode: none\npipeline: []\n")
    const failure = await boot().then(
      () => undefined,
      (error: unknown) => error as Error,
    )
    expect(failure?.message)
      .to.match(/a\.yaml:4:\d+: /)
      .and.to.match(/b\.yaml:3:\d+: /)
      .and.to.match(/c\.yaml:\d+:\d+: /)
    expect(failure?.message).to.include("Did you mean").and.not.to.include("literal-SECRET").and.not.to.include("d.yaml")
  })

  it("are those of the folder itself: others that may be meant are named", async () => {
    const { write, boot } = place()
    write("a.yaml", "name: Taken\nauth_mode: none\npipeline: []\n")
    write("crm/x.yaml", "name: Below\nauth_mode: none\npipeline: []\n")
    write("z.YAML", "name: Shouted\nauth_mode: none\npipeline: []\n")
    write("bodies/event.json", "{}")
    const host = await boot()
    const { body } = await host.api<{ event_pipelines: { slug: string }[] }>("GET", "/v1/event-pipelines")
    expect(body.event_pipelines.map(({ slug }) => slug)).to.deep.equal(["taken"])
    const said = warned(host)
    expect(said).to.have.length(2)
    expect(said[0]).to.match(/crm is ignored: subfolders are not searched/)
    expect(said[1]).to.match(/z\.YAML is ignored/)
  })

  it("are none where the name begins with a dot, and refused where they cannot be read", async () => {
    const { write, link, boot } = place()
    write("y.yaml", "name: Edited\nauth_mode: none\npipeline: []\n")
    link(".#y.yaml", "me@host.1:2")
    write("._y.yaml", "\0\u0005\u0016\u0007")
    const host = await boot()
    expect(await get(host, "edited")).to.include({ name: "Edited" })
    expect(warned(host)).to.deep.equal([])
    link("z.yaml", "gone.yaml")
    write("latin.yaml", Buffer.from("name: Grüße\n", "latin1"))
    write("bad.yaml", "name: [unfinished\n")
    const failure = await boot().then(
      () => undefined,
      (error: unknown) => error as Error,
    )
    expect(failure?.message)
      .to.match(/z\.yaml:1:1: The file cannot be read: /)
      .and.to.match(/bad\.yaml:\d+:\d+: /)
      .and.to.match(/latin\.yaml:1:1: The file is not valid UTF-8/)
      .and.not.to.include("ENOENT")
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
