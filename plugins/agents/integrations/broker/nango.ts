// The API of the connection broker Nango: sessions for grants, the resulting connections, and their credentials. Nango stores and
// refreshes the credentials.
import { z } from "zod"
import { AppError, type OutgoingHttp } from "#core"

export const BrokerSettings = z.strictObject({
  url: z
    .string()
    .max(2_048)
    .refine(
      (text) => URL.canParse(text) && /^https?:\/\/[^?#@\s]+[^/?#@\s]$/i.test(text),
      "expected an absolute URL without a slash at its end",
    )
    .default("https://api.nango.dev"),
  secret_key: z.string().min(1).max(4_000).describe("Of the environment there; best as `{ from_env: NAME }`."),
  timeout_ms: z.int().min(100).max(120_000).default(30_000).describe("Timeout of a call to it."),
})
export type BrokerSettings = z.output<typeof BrokerSettings>

const Session = z.object({ data: z.object({ connect_link: z.string().max(4_096) }) })
const Listed = z.object({
  connections: z
    .array(
      z.object({
        connection_id: z.string().min(1).max(255),
        provider_config_key: z.string(),
        created: z.string().nullish(),
        tags: z.record(z.string(), z.unknown()).nullish(),
      }),
    )
    .max(2_000),
})
const Credentials = z.object({
  credentials: z.discriminatedUnion("type", [
    z.object({ type: z.literal("OAUTH2"), access_token: z.string().min(1) }),
    z.object({ type: z.literal("API_KEY"), apiKey: z.string().min(1) }),
    z.object({ type: z.literal("BASIC"), username: z.string(), password: z.string() }),
  ]),
})

export type BrokerCredentials =
  | { readonly access_token: string }
  | { readonly api_key: string }
  | { readonly username: string; readonly password: string }

/** The broker does not have the connection, or cannot refresh its credentials. */
export class BrokerConnectionEnded extends Error {}

const maxBytes = 1_048_576

export class Nango {
  readonly #http: OutgoingHttp
  readonly #settings: BrokerSettings

  constructor(http: OutgoingHttp, settings: BrokerSettings) {
    this.#http = http
    this.#settings = settings
  }

  /** Returns the URL for the user's grant. Resulting connections have the tag `end_user_id`. */
  async session(integration: string, attempt: string, organization: string): Promise<string> {
    const tags = { end_user_id: attempt, organization_id: organization }
    const { data } = await this.#ask(Session, "POST", "/connect/sessions", { tags, allowed_integrations: [integration] })
    if (!URL.canParse(data.connect_link) || !/^https?:$/.test(new URL(data.connect_link).protocol))
      throw this.#failed("its link is not a URL")
    return data.connect_link
  }

  /**
   * Returns the newest connection of an attempt. The check of tags is required: some brokers ignore the filter and list all
   * organizations.
   */
  async connectionOf(integration: string, attempt: string): Promise<string | undefined> {
    const query = new URLSearchParams({ "tags[end_user_id]": attempt, integrationId: integration })
    const { connections } = await this.#ask(Listed, "GET", `/connections?${query}`)
    const isOwn = ({ provider_config_key, tags }: (typeof connections)[number]) =>
      provider_config_key === integration && tags?.["end_user_id"] === attempt
    const own = connections.filter(isOwn)
    return own.sort((a, b) => (b.created ?? "").localeCompare(a.created ?? ""))[0]?.connection_id
  }

  /** Returns fresh credentials. The broker refreshes if due. Throws BrokerConnectionEnded. */
  async credentials(integration: string, connection: string, force: boolean): Promise<BrokerCredentials> {
    const query = new URLSearchParams({ provider_config_key: integration, ...(force ? { force_refresh: "true" } : {}) })
    const { credentials } = await this.#ask(Credentials, "GET", `/connections/${encodeURIComponent(connection)}?${query}`)
    if (credentials.type === "OAUTH2") return { access_token: credentials.access_token }
    if (credentials.type === "API_KEY") return { api_key: credentials.apiKey }
    return { username: credentials.username, password: credentials.password }
  }

  async end(integration: string, connection: string): Promise<void> {
    const query = new URLSearchParams({ provider_config_key: integration })
    try {
      await this.#ask(z.unknown(), "DELETE", `/connections/${encodeURIComponent(connection)}?${query}`)
    } catch (error) {
      if (!(error instanceof BrokerConnectionEnded)) throw error
    }
  }

  async #ask<T>(schema: z.ZodType<T>, method: string, path: string, body?: object): Promise<T> {
    const { url, secret_key, timeout_ms: timeoutMs } = this.#settings
    const headers = { authorization: `Bearer ${secret_key}`, ...(body ? { "content-type": "application/json" } : {}) }
    const bodyOption = body ? { body: JSON.stringify(body) } : {}
    const answer = await this.#http.fetch({ url: url + path, method, headers, ...bodyOption, redirects: "manual", timeoutMs, maxBytes })
    const { status, json } = answer
    if (status === 404 || status === 424) throw new BrokerConnectionEnded(`The broker answered ${status}.`)
    if (status < 200 || status > 299) throw this.#failed(`it answered ${status}`)
    const parsed = schema.safeParse(json)
    if (!parsed.success) throw this.#failed("its answer is not as expected")
    return parsed.data
  }

  #failed(problem: string): AppError {
    const { origin } = new URL(this.#settings.url)
    return new AppError("unavailable", `The connection broker ${origin} cannot be used now: ${problem}.`, {
      reason: "broker_failed",
      server: origin,
    })
  }
}
