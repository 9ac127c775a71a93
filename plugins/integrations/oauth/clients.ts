// The clients that apps are registered as at their authorization servers: from the configuration.
import { z } from "zod"
import { AppError } from "#core"
import type { OAuthClient } from "./provider.ts"

export const OAuthClientSettings = z.strictObject({
  client_id: z.string().min(1).max(2_000),
  client_secret: z.string().min(1).max(4_000).optional().describe("Best as `{ from_env: NAME }`; absent for a client without one."),
})

export interface OAuthClients {
  find(organization: string, app: string): Promise<OAuthClient | undefined>
  /** Throws `failed_precondition` where the app has none. */
  of(organization: string, app: string): Promise<OAuthClient>
}

export function createOAuthClients(configured: Readonly<Record<string, OAuthClient>>): OAuthClients {
  const find = async (_organization: string, app: string) => (Object.hasOwn(configured, app) ? configured[app] : undefined)
  return {
    find,
    async of(organization, app) {
      const client = await find(organization, app)
      if (client) return client
      const message = `The service is not set up for authorizations of ${app}: it has no OAuth client there.`
      throw new AppError("failed_precondition", message, { reason: "authorization_unavailable", retryable: false })
    },
  }
}
