// The master key is replaced while connections have tokens. Later refreshes work as before.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { frameworkRoot } from "../../../../core/bootstrap/runtime.ts"
import { rotateMasterKey } from "../../../../core/cli/rotate-master-key.ts"
import { loadConfig } from "../../../../core/kernel/config.ts"
import { onBothStores } from "../../../pipeline/stores.ts"
import { patiently, untilProcess as until } from "../../../waiting.ts"
import { startVendorServer } from "./vendor-server.ts"
import { startVendorService, vendorDocument } from "./vendor-service.ts"

onBothStores("authorizations, and another master key", ({ storage }) => {
  it("are refreshed with it, and revoked", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "millrace-rotated-"))
    const vendor = await startVendorServer()
    const env = await storage()
    const start = () => startVendorService((origin) => [vendorDocument("vendor", origin)], { dataDir, env, vendor })
    const first = await start()
    const { integration_id: id } = await first.connect("vendor")
    expect((await first.call(id)).status).to.equal(200)
    await first.host.stop()

    const variables = { MILLRACE_DATA_DIR: dataDir, MILLRACE_LOG_LEVEL: "silent", ...env }
    const rotated = await rotateMasterKey(loadConfig({ defaults: join(frameworkRoot, "config/default.yaml"), env: variables }).config)
    expect(rotated).to.match(/secrets were re-encrypted/)

    const second = await start()
    second.host.clock.move(3_600_000)
    expect((await second.call(id)).status).to.equal(200)
    expect(vendor.at("/token").map(({ form }) => form.get("grant_type"))).to.deep.equal(["authorization_code", "refresh_token"])
    const ended = await patiently(() => second.host.api("DELETE", `/v1/integrations/${id}`))
    expect(ended.status).to.equal(200)
    await until("the revocation", () => vendor.at("/revoke").length === 2)
    await second.stop()
    rmSync(dataDir, { recursive: true, force: true })
  })
})
