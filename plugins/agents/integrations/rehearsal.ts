// Creates the connections of a rehearsal, so that steps with an integration can call it.
import type { RehearsalContext, RehearsedConnection } from "#core/engine"
import { connectIntegration } from "./operations/connect.ts"

export async function rehearsedConnection({ call }: RehearsalContext, { slug, base_url, headers }: RehearsedConnection): Promise<void> {
  await call(connectIntegration, {
    app: "http",
    name: slug,
    credentials: { base_url, ...(headers ? { headers } : {}) },
    share_with_org: true,
  })
}
