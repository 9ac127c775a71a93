// Documents and files of a first start. Later starts do not change them.
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import identity from "../../../plugins/platform/identity/index.ts"
import organizations, { ApiKeys, Bootstrap, generateKey, Organizations } from "../../../plugins/platform/organizations/index.ts"
import { ServiceUnderTest } from "../unit-of-work.ts"

interface Me {
  organization: { id: string; slug: string }
  role: string
  user: { email: string } | null
}

function fileOf(service: ServiceUnderTest) {
  return JSON.parse(readFileSync(join(service.folder, "bootstrap.json"), "utf8")) as {
    base_url: string
    organization: { id: string; slug: string }
    admin_key: string
  }
}

async function messageOf(start: Promise<unknown>): Promise<string> {
  try {
    await start
  } catch (error) {
    return (error as Error).message
  }
  throw new Error("It started.")
}

describe("first start", () => {
  let service: ServiceUnderTest
  const started: ServiceUnderTest[] = []
  const make = (before?: ServiceUnderTest) => {
    service = new ServiceUnderTest([identity, organizations], before)
    started.push(service)
    return service
  }
  afterEach(async () => {
    delete process.env["NODE_ENV"]
    for (const item of started.splice(0)) await item.remove()
  })

  it("makes the organization default, an owner and a key, and writes them for the owner of the folder alone", async () => {
    await make().start()
    const file = fileOf(service)
    expect(statSync(join(service.folder, "bootstrap.json")).mode & 0o777).to.equal(0o600)
    expect(Object.keys(file)).to.deep.equal(["base_url", "organization", "admin_key", "printed"])
    expect(file.organization.slug).to.equal("default")
    expect(file.base_url).to.equal("http://127.0.0.1:8080")
    const bootstrap = service.get(Bootstrap)
    expect(bootstrap.adminKey).to.equal(file.admin_key)
    expect(bootstrap.organization?.id).to.equal(file.organization.id)
    const me = await service.call<Me>("me.get", {}, { key: file.admin_key })
    expect(me).to.deep.include({ role: "owner" })
    expect(me.organization.id).to.equal(file.organization.id)
    expect(me.user?.email).to.equal("")
    const members = await service.call<{ members: { role: string }[] }>("members.list", {}, { key: file.admin_key })
    expect(members.members.map(({ role }) => role)).to.deep.equal(["owner"])
    expect(service.logged.join("")).to.not.include(file.admin_key.slice(7))
  })

  it("leaves file and key as they are at the next start, and shows the key no more", async () => {
    await make().start()
    service.get(Bootstrap).listening("http://127.0.0.1:8080")
    const file = fileOf(service)
    expect(Object.keys(file)).to.deep.equal(["base_url", "organization", "admin_key"])
    await service.stop()
    await make(service).start()
    expect(fileOf(service)).to.deep.equal(file)
    expect(service.get(Bootstrap).adminKey).to.equal(null)
    expect(service.get(Bootstrap).organization?.id).to.equal(file.organization.id)
    expect((await service.call<Me>("me.get", {}, { key: file.admin_key })).organization.id).to.equal(file.organization.id)
  })

  it("shows the key at the first start that listens, when an earlier one found its port taken", async () => {
    await make().start()
    const file = fileOf(service)
    await service.stop()
    await make(service).start()
    expect(service.get(Bootstrap).adminKey).to.equal(file.admin_key)
    service.get(Bootstrap).listening("http://127.0.0.1:8080")
    await service.stop()
    await make(service).start()
    expect(service.get(Bootstrap).adminKey).to.equal(null)
  })

  it("puts the address into the file once the service listens, and touches nothing else", async () => {
    await make().start()
    const file = fileOf(service)
    service.get(Bootstrap).listening("http://127.0.0.1:49152")
    const { organization, admin_key } = file
    expect(fileOf(service)).to.deep.equal({ base_url: "http://127.0.0.1:49152", organization, admin_key })
    expect(statSync(join(service.folder, "bootstrap.json")).mode & 0o777).to.equal(0o600)
  })

  it("takes up the key of a start that was cut short before its commit", async () => {
    await make().start()
    const file = fileOf(service)
    await service.stop()
    for (const name of ["millrace.db", "millrace.db-wal", "millrace.db-shm", "millrace.db-commits"])
      rmSync(join(service.folder, name), { force: true })
    await make(service).start()
    expect(fileOf(service).admin_key).to.equal(file.admin_key)
    expect((await service.call<Me>("me.get", {}, { key: file.admin_key })).role).to.equal("owner")
  })

  it("does not overwrite a file that it cannot read", async () => {
    writeFileSync(join(make().folder, "bootstrap.json"), "{ half")
    expect(await messageOf(service.start())).to.match(/bootstrap\.json does not hold what a first start writes/)
    expect(readFileSync(join(service.folder, "bootstrap.json"), "utf8")).to.equal("{ half")
  })

  it("uses a configured key instead of drawing one, and does not show it", async () => {
    const { text } = generateKey("api_key")
    await make().start(() => ({ bootstrap_key: text }))
    expect(fileOf(service).admin_key).to.equal(text)
    expect(service.get(Bootstrap).adminKey).to.equal(null)
    expect((await service.call<Me>("me.get", {}, { key: text })).role).to.equal("owner")
  })

  it("refuses a configured key that is mistyped, or none, and says how to get one", async () => {
    const { text } = generateKey("api_key")
    const mistyped = text.slice(0, -1) + (text.endsWith("a") ? "b" : "a")
    for (const [key, why] of [
      [mistyped, /typing error/],
      ["hunter2", /is not an API key/],
      [generateKey("token").text, /is not an API key/],
    ] as const) {
      const message = await messageOf(make().start(() => ({ bootstrap_key: key })))
      expect(message)
        .to.match(why)
        .and.match(/MILLRACE_BOOTSTRAP_KEY/)
        .and.match(/npm run millrace -- make-key/)
      expect(message).to.not.include(key)
      expect(existsSync(join(service.folder, "bootstrap.json"))).to.equal(false)
    }
  })

  it("in production starts only with a configured key, and writes no file", async () => {
    process.env["NODE_ENV"] = "production"
    expect(await messageOf(make().start())).to.match(/MILLRACE_BOOTSTRAP_KEY/)
    const { text } = generateKey("api_key")
    await make(service).start(() => ({ bootstrap_key: text }))
    expect((await service.call<Me>("me.get", {}, { key: text })).role).to.equal("owner")
    await service.stop()
    await make(service).start()
    expect((await service.call<Me>("me.get", {}, { key: text })).role).to.equal("owner")
    service.get(Bootstrap).listening("http://x.test")
    expect(existsSync(join(service.folder, "bootstrap.json"))).to.equal(false)
    expect(service.get(Bootstrap).file).to.equal(null)
  })

  it("does not give a configured key power where there is an organization already, not even a revoked one again", async () => {
    const first = generateKey("api_key").text
    await make().start(() => ({ bootstrap_key: first }))
    const { id } = await service.get(Organizations).first()
    await service.work(async (work) => {
      const keys = service.get(ApiKeys)
      keys.revoke(work, id, await keys.get(id, first.slice(7, 23)))
    })
    await service.stop()
    await make(service).start(() => ({ bootstrap_key: first }))
    const error = await service.call("me.get", {}, { key: first }).catch((refused: unknown) => refused)
    expect(error).to.include({ code: "unauthenticated" })
    await service.stop()
    const other = generateKey("api_key").text
    await make(service).start(() => ({ bootstrap_key: other }))
    expect(await service.call("me.get", {}, { key: other }).catch((refused: unknown) => refused)).to.include({ code: "unauthenticated" })
    expect(service.logged.join("")).to.include("is used at the first start only")
  })
})
