// A service with an app `contacts`, connected to a loopback authorization server.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type TestHost, type TestHostOptions, testHost } from "#core/testing"
import { Integrations } from "../../../../plugins/agents/integrations/index.ts"
import { patiently } from "../../../waiting.ts"
import { type AuthorizationServer, client, type ServerOptions, startAuthorizationServer } from "./authorization-server.ts"
import { Browser, type Seen } from "./browser.ts"

const callbackPath = "/v1/integrations/oauth/callback/contacts"
export const returnUrl = "https://app.example.com/done?tab=2"

/** Returns settings of a service with one app document, `contacts`. */
function settingsOf({ issuer }: Pick<AuthorizationServer, "issuer">, folder: string): Record<string, string> {
  const oauth2 = {
    issuer,
    authorization_url: `${issuer}/auth`,
    token_url: `${issuer}/token`,
    revocation_url: `${issuer}/token/revocation`,
    revocation_ends: "grant",
    scopes: ["openid", "contacts"],
    client_auth: "basic",
  }
  const about = { slug: "contacts", name: "Contacts", summary: "Contacts of a test.", docs_url: "https://contacts.example.com" }
  writeFileSync(
    join(folder, "contacts.json"),
    JSON.stringify({ ...about, base_url: `${issuer}/api`, auth: { oauth2 }, test: { path: "/contacts" } }),
  )
  const settings = { integrations: { app_folders: [folder], oauth_clients: { contacts: client }, health_checks: "off" } }
  return { MILLRACE_PLUGINS_SETTINGS: JSON.stringify(settings), MILLRACE_OUTGOING_ALLOW_HOSTS: new URL(issuer).host }
}

export interface Begun {
  readonly integration_id: string
  readonly connect_url: string
  readonly status: string
}

export class OAuthService {
  readonly host: TestHost
  readonly server: AuthorizationServer
  /** Settings of the service, also for another node. */
  readonly settings: Readonly<Record<string, string>>
  /** Folder of app documents. */
  readonly #folder: string

  constructor(host: TestHost, server: AuthorizationServer, folder: string, settings: Readonly<Record<string, string>>) {
    this.host = host
    this.server = server
    this.settings = settings
    this.#folder = folder
  }

  async stop(): Promise<void> {
    await this.host.stop()
    await this.server.close()
    rmSync(this.#folder, { recursive: true })
  }

  async begin(name: string, change: object = {}): Promise<Begun> {
    const input = { app: "contacts", name, share_with_org: true, return_url: returnUrl, ...change }
    const { status, body } = await patiently(() => this.host.api<Begun>("POST", "/v1/integrations-connect", input))
    if (status !== 200) throw new Error(`connect was answered ${status}: ${JSON.stringify(body)}`)
    return body
  }

  /** Follows the grant up to the redirect back to the service, and returns that redirect. */
  async grant(attempt: Begun, browser = new Browser()): Promise<{ readonly browser: Browser; readonly back: string }> {
    const { url } = await browser.open(attempt.connect_url, (next) => next.startsWith(this.host.url + callbackPath))
    return { browser, back: url }
  }

  land(browser: Browser, back: string): Promise<Seen> {
    return browser.open(back, (next) => next.startsWith("https://app.example.com/"))
  }

  /** Creates a granted connection and returns its id. */
  async connected(name: string): Promise<string> {
    const attempt = await this.begin(name)
    const { browser, back } = await this.grant(attempt)
    await this.land(browser, back)
    return attempt.integration_id
  }

  async statusOf(id: string): Promise<string> {
    return (await this.host.api<{ status: string }>("GET", `/v1/integrations/${id}`)).body.status
  }

  call(ref: string): Promise<{ readonly status: number }> {
    return this.host.get(Integrations).call(this.host.organization.id, ref, { method: "GET", path: "/contacts" })
  }
}

export async function startOAuth(options: ServerOptions = {}, hosts: TestHostOptions = {}): Promise<OAuthService> {
  const server = await startAuthorizationServer(options)
  const folder = mkdtempSync(join(tmpdir(), "millrace-apps-"))
  const settings = settingsOf(server, folder)
  const host = await testHost({ capture: false, ...hosts, env: { ...settings, ...hosts.env } })
  server.register(host.url + callbackPath)
  return new OAuthService(host, server, folder, settings)
}
