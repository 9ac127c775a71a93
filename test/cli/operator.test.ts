// Commands of the operator with the master key: on a running service, on a stopped service, and without the key.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import type { TestHost } from "#core/testing"
import { drawOperatorCredential, operatorPurpose } from "../../core/contract/operator.ts"
import { Vault } from "../../core/kernel/vault.ts"
import { Organizations } from "../../plugins/platform/organizations/index.ts"
import { onStoresInTurn } from "../pipeline/stores.ts"
import { runAlone } from "./command-line.ts"

interface Refusal {
  readonly details: { readonly reason?: string }
}

onStoresInTurn("the operator's command", ({ start, storage }) => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-operator-"))
  let store: Record<string, string>
  let host: TestHost | undefined
  before(async () => {
    store = await storage()
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  const startService = async () => {
    host = await start({ dataDir: folder, env: store })
    return host
  }
  const stopService = async () => {
    await host?.stop()
    host = undefined
  }
  const run = async (...args: string[]) => {
    const env = { PATH: process.env["PATH"], NO_COLOR: "1", MILLRACE_DATA_DIR: folder, PORT: "0", MILLRACE_PIPELINES_PATHS: ",", ...store }
    const { code, said: messages } = await runAlone(folder, args, env)
    const on = (stream: string) =>
      messages
        .filter((part) => part.on === stream)
        .map(({ text }) => text)
        .join("")
    return { code, out: on("stdout"), err: on("stderr") }
  }
  const create = (name: string, owner: string, ...more: string[]) =>
    run("organizations", "create", "--name", name, "--owner", owner, "--json", ...more)
  const secretOf = ({ code, out, err }: Awaited<ReturnType<typeof run>>) => {
    expect(code, err).to.equal(0)
    return JSON.parse(out) as { id: string; slug: string; role: string; secret: string | null }
  }

  it("creates an organization while the service runs", async () => {
    const service = await startService()
    const { id, slug, secret } = secretOf(await create("Bakery", "Ada@Example.com", "--first-key"))
    const me = await service.api<{ user: { email: string } }>("GET", "/v1/me", undefined, { key: secret ?? "" })
    expect([slug, me.body.user.email]).to.deep.equal(["bakery", "ada@example.com"])
    expect((await service.get(Organizations).admins(id)).map(({ email }) => email)).to.deep.equal(["ada@example.com"])
  })

  it("suspends and resumes it, effective at once", async () => {
    const { slug, secret } = secretOf(await create("Paused", "bob@example.com", "--first-key"))
    const write = async () =>
      (await host?.api<Refusal>("POST", "/v1/datasets", { name: `d${Math.random()}` }, { key: secret ?? "" }))?.body.details?.reason
    expect(await write()).to.equal(undefined)
    expect((await run("organizations", "suspend", slug, "--note", "Unpaid.", "--operator")).code).to.equal(0)
    expect(await write()).to.equal("organization_suspended")
    expect((await run("organizations", "resume", slug, "--operator")).code).to.equal(0)
    expect(await write()).to.equal(undefined)
  })

  it("creates one while the service is stopped, for a user who exists", async () => {
    await stopService()
    const { id, slug } = secretOf(await create("Second shop", "ada@example.com", "--slug", "second"))
    expect((await run("organizations", "suspend", slug, "--operator")).code).to.equal(0)
    const duplicate = await create("Third", "ada@example.com", "--slug", "second")
    expect([duplicate.code === 0, JSON.parse(duplicate.err).details.reason]).to.deep.equal([false, "slug_taken"])
    const service = await startService()
    const organizations = service.get(Organizations)
    expect((await organizations.admins(id)).map(({ email }) => email)).to.deep.equal(["ada@example.com"])
    expect((await organizations.bySlug("second"))?.suspended).to.include({ note: "" })
  })

  it("creates the first organization of a store that was never started", async () => {
    const fresh = mkdtempSync(join(tmpdir(), "millrace-operator-"))
    const env = { PATH: process.env["PATH"], NO_COLOR: "1", MILLRACE_DATA_DIR: fresh, PORT: "0", MILLRACE_PIPELINES_PATHS: "," }
    const { code, said: messages } = await runAlone(fresh, ["organizations", "create", "--name", "First", "--owner", "a@example.com"], env)
    expect(code, messages.map(({ text }) => text).join("")).to.equal(0)
    rmSync(fresh, { recursive: true, force: true })
  })

  it("refuses what is wrong, and names the flag", async () => {
    const { code, err } = await run("organizations", "create", "--name", "X", "--owner", "nobody", "--json")
    expect(code).not.to.equal(0)
    expect(err).to.include("owner")
    const missing = await run("organizations", "create", "--name", "X", "--operator", "--json")
    expect(JSON.parse(missing.err).details).to.include({ reason: "invalid_fields" })
  })

  it("needs the master key, for its own operation and for a minute", async () => {
    const service = host ?? (await startService())
    const key = service.get(Vault).keyFor(operatorPurpose)
    const now = service.clock.now()
    const ask = async (credential: string, path = "/v1/organizations") => {
      const { status, body } = await service.api<Refusal>("POST", path, { name: "X", owner: "x@example.com" }, { key: credential })
      return [status, body.details?.reason]
    }
    expect(await ask(drawOperatorCredential(Buffer.alloc(32, 7), "organizations.create", now))).to.deep.equal([401, "unknown_credential"])
    expect(await ask(drawOperatorCredential(key, "organizations.create", now - 600_000))).to.deep.equal([401, "unknown_credential"])
    expect(await ask(drawOperatorCredential(key, "organizations.create", now + 600_000))).to.deep.equal([401, "unknown_credential"])
    expect(await ask(drawOperatorCredential(key, "organizations.suspend", now))).to.deep.equal([403, "operator_only"])
    expect(await ask(drawOperatorCredential(key, "datasets.create", now), "/v1/datasets")).to.deep.equal([403, "operator_only"])
    const forged = drawOperatorCredential(key, "organizations.create", now).replace(/.$/, (last) => (last === "0" ? "1" : "0"))
    expect(await ask(forged)).to.deep.equal([401, "unknown_credential"])
    expect(await ask("mr_operator_")).to.deep.equal([401, "unknown_credential"])
    // An owner's key cannot name another owner.
    expect(await ask(service.adminKey)).to.deep.equal([403, "operator_only"])
    expect((await ask(drawOperatorCredential(key, "organizations.create", now)))[0]).to.equal(200)
  })
})
