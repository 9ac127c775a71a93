// The whole service for the walks over its operations: no limits in the way, nothing sent anywhere, no browser started.
import { join } from "node:path"
import { type TestHost, type TestHostOptions, testHost } from "#core/testing"
import { frameworkRoot, loadDeclarations } from "../../../core/bootstrap/plugins.ts"
import { type AnyOperation, Operations } from "../../../core/contract/operation.ts"
import { loadConfig } from "../../../core/kernel/config.ts"
import { pluginSettings } from "../../plugins/buckets/stores.ts"

export interface ParityFixture {
  readonly host: TestHost
  readonly operations: ReadonlyMap<string, AnyOperation>
}

/** Every operation of what ships, for a test each. */
export async function shippedOperations(): Promise<AnyOperation[]> {
  const { config } = loadConfig({ defaults: join(frameworkRoot, "config/default.yaml"), env: {} })
  return (await loadDeclarations({ config, root: frameworkRoot })).registry.items(Operations)
}

export async function openParityFixture(
  env: Readonly<Record<string, string>> = {},
  plugins: TestHostOptions["plugins"] = [],
): Promise<ParityFixture> {
  const limits = ["KEY", "ORGANIZATION", "ADDRESS"].map((who) => [`MILLRACE_RATE_LIMITS_${who}_PER_MINUTE`, "1000000"])
  const host = await testHost({
    capture: true,
    sharedCompiler: true,
    plugins,
    env: {
      ...Object.fromEntries(limits),
      ...pluginSettings({ screenshots: { executable: "/nowhere/chromium" } }),
      MILLRACE_LOG_LEVEL: "error",
      MILLRACE_JOBS_POLL_MS: "50",
      ...env,
    },
  })
  return { host, operations: new Map(host.runtime.registry.items(Operations).map((operation) => [operation.name, operation])) }
}
