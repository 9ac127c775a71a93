// A service with a loopback peer for each area. Tests can make its commits lose against a faster commit.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import type { TestHost } from "#core/testing"
import type { Write } from "../../core/contract/store.ts"
import type { StartHost } from "../pipeline/stores.ts"
import { type RivalOptions, rivalOf } from "../rival-commits.ts"
import { connect, type Providers, startProviders } from "./conversations/providers.ts"
import { type Endpoints, makePipelines } from "./conversations/webhooks.ts"
import { type AgentServer, agentServer } from "./evals/agent-server.ts"
import { type BrokerServer, secretKey, startBroker } from "./integrations/broker-server.ts"
import { startVendorServer, type VendorServer } from "./integrations/oauth/vendor-server.ts"
import { settingsOf, vendorDocument } from "./integrations/oauth/vendor-service.ts"
import { type ModelServer, modelServer } from "./models/model-server.ts"
import { startTrustHub, type TrustHubServer } from "./voice/trust-hub.ts"

export interface ConflictService {
  readonly host: TestHost
  readonly urls: Endpoints
  readonly providers: Providers
  readonly vendor: VendorServer
  readonly broker: BrokerServer
  readonly hub: TrustHubServer
  readonly models: ModelServer
  readonly agent: AgentServer
  /** Calls the API; expects 200. */
  api<T>(method: string, path: string, body?: object): Promise<T>
  /** Acts while `times` commits of the collection lose against a faster commit. Expects as many conflicts and no failed job. */
  second<T>(collection: string, times: number, act: () => Promise<T>, options?: RivalOptions): Promise<T>
  /** Closes the host's peers. The suite stops the host. */
  close(): Promise<void>
}

/** Calls in ten minutes through one connection. */
export const allowedCalls = 3

export async function startConflictService(start: StartHost): Promise<ConflictService> {
  const [providers, vendor, broker, hub, models, agent] = await Promise.all([
    startProviders(),
    startVendorServer(),
    startBroker(),
    startTrustHub(),
    modelServer(),
    agentServer(),
  ])
  const folder = mkdtempSync(join(tmpdir(), "millrace-conflicts-"))
  const keyed = { api_key: { authorise: { in: "header", name: "X-Api-Key" } } }
  const documents = [
    vendorDocument("granted", vendor.origin),
    { ...vendorDocument("brokered", vendor.origin), auth: { api_key: {}, broker: { integration: "vendor-prod" } } },
    { ...vendorDocument("limited", vendor.origin), auth: keyed, rate_limits: [{ requests: allowedCalls, per_seconds: 600 }] },
  ]
  const peers = [{ origin: providers.peer.origin }, vendor, { origin: broker.url }, hub, { origin: agent.url }]
  const env = settingsOf(folder, documents, peers, { broker: { url: broker.url, secret_key: secretKey } })
  const settings = {
    ...JSON.parse(env["MILLRACE_PLUGINS_SETTINGS"] ?? "{}"),
    models: { default: { base_url: models.url, model: "m-1", prices: { input: 1_000, output: 1_000 } }, max_retries: 0 },
    voice: { trust_hub_url: hub.origin, twilio_url: hub.origin },
  }
  const host = await start({ env: { ...env, MILLRACE_PLUGINS_SETTINGS: JSON.stringify(settings), MILLRACE_JOBS_POLL_MS: "50" } })
  const urls = await makePipelines(host)
  await connect(host, providers)
  const failures = () => host.logged.filter((line) => /will be retried|no attempts left/.test(line))
  return {
    ...{ host, urls, providers, vendor, broker, hub, models, agent },
    async api<T>(method: string, path: string, body?: object) {
      const answer = await host.api<T>(method, path, body)
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
      return answer.body
    },
    async second(collection, times, act, options) {
      const before = failures().length
      const rival = rivalOf(host, collection, times, options)
      try {
        const value = await act()
        expect([rival.met, failures().slice(before)]).to.deep.equal([times, []])
        return value
      } finally {
        rival.stop()
      }
    },
    async close() {
      await Promise.all([providers, vendor, broker, hub, models, agent].map((peer) => peer.close()))
      rmSync(folder, { recursive: true })
    },
  }
}

/** Selects updates that set a field to a value. */
export function sets(field: string, value: unknown): (write: Write) => boolean {
  return (write) => write.kind === "update" && write.update.$set?.[field] === value
}
