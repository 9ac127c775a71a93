// A service killed during a refresh, on both stores. Stored tokens stay, and the next service refreshes with them. If the server
// refuses them, the connection reports the end of the authorization.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { Store } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { apiOf, freshFolder, startService } from "../../../crash/service-process.ts"
import { lendDatabaseToFile, mongoAvailable } from "../../../mongodb-server.ts"
import { patiently } from "../../../waiting.ts"
import { collectionNamed } from "../../collection-named.ts"
import { Browser } from "./browser.ts"
import { startVendorServer, type VendorServer } from "./vendor-server.ts"
import { returnUrl, settingsOf, vendorDocument } from "./vendor-service.ts"

interface Tested {
  readonly ok: boolean
  readonly message: string
}
interface Read {
  readonly status: string
}

const stores: [string, (title: string, run: () => Promise<void>) => unknown, () => Promise<Record<string, string>>][] = [
  ["", it, async () => ({})],
  [" (mongodb)", mongoAvailable ? it : it.skip, async () => ({ MILLRACE_STORAGE_URL: await lendDatabaseToFile() })],
]

describe("a service that is killed while it refreshes tokens", () => {
  for (const [where, test, storage] of stores) {
    for (const rotates of [false, true]) {
      const server = rotates ? "takes each refresh token once" : "keeps refresh tokens"
      test(`loses nothing that was stored, of a server that ${server}${where}`, async () => {
        await killed(rotates, "before the answer", await storage())
      })
    }
    test(`has either the old tokens or the new ones, killed as the answer arrives${where}`, async () => {
      await killed(false, "with the answer", await storage())
    })
  }
})

async function killed(rotates: boolean, when: "before the answer" | "with the answer", storage: Record<string, string>): Promise<void> {
  const data = freshFolder()
  const folder = mkdtempSync(join(tmpdir(), "millrace-apps-"))
  const vendor = await startVendorServer()
  const env = { ...settingsOf(folder, [vendorDocument("vendor", vendor.origin)], [vendor]), ...storage }
  // Due for a refresh from the beginning.
  vendor.told = { expires_in: 1 }
  const service = await startService({ dataDir: data.path, env })
  let host: TestHost | undefined
  try {
    const api = apiOf(service, data.path)
    const input = { app: "vendor", share_with_org: true, return_url: returnUrl }
    const { connect_url, integration_id: id } = await api<{ connect_url: string; integration_id: string }>(
      "POST",
      "/v1/integrations-connect",
      input,
    )
    await new Browser().open(connect_url, (next) => next.startsWith(returnUrl))
    expect((await api<Read>("GET", `/v1/integrations/${id}`)).status).to.equal("connected")
    vendor.rotates = rotates
    await killedAt(
      vendor,
      when,
      () => service.kill(),
      () => void api("POST", `/v1/integrations/${id}/test`).catch(() => undefined),
    )

    vendor.on.clear()
    vendor.told = {}
    host = await testHost({ dataDir: data.path, env, capture: false })
    const grants = host
      .get(Store)
      .open(collectionNamed<{ generation: number; tokens: unknown }>(host, "integration_oauth_grants"), host.organization.id)
    const stored = await grants.get(id)
    expect(stored?.generation).to.be.oneOf(when === "before the answer" ? [1] : [1, 2])
    // Waits until the lease of the dead process is free.
    const next = host
    const test = async () => (await patiently(() => next.api<Tested>("POST", `/v1/integrations/${id}/test`))).body
    const tested = await test()
    const { status } = (await host.api<Read>("GET", `/v1/integrations/${id}`)).body
    if (!rotates) {
      expect([tested.ok, status]).to.deep.equal([true, "connected"])
      expect((await grants.get(id))?.generation).to.be.greaterThan(1)
      return
    }
    expect([tested.ok, status]).to.deep.equal([false, "authorization_expired"])
    expect(tested.message).to.include("Connect it again with rotate_credentials")
    expect((await grants.get(id))?.tokens).to.deep.equal(stored?.tokens)
    const again = await host.api<{ connect_url: string }>("POST", "/v1/integrations-connect", { ...input, rotate_credentials: true })
    await new Browser().open(again.body.connect_url, (next) => next.startsWith(returnUrl))
    expect((await test()).ok).to.equal(true)
  } finally {
    await service.kill()
    await host?.stop()
    await vendor.close()
    data.remove()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** In both cases the server has created new tokens. */
async function killedAt(
  vendor: VendorServer,
  when: "before the answer" | "with the answer",
  kill: () => Promise<void>,
  begin: () => void,
): Promise<void> {
  const dead = Promise.withResolvers<void>()
  vendor.on.set("/token", (request, response) => {
    const end = response.end.bind(response)
    response.end = ((text: string) => {
      if (when === "with the answer") end(text)
      void kill().then(dead.resolve)
      return response
    }) as typeof response.end
    vendor.does(request, response)
  })
  begin()
  await dead.promise
}
