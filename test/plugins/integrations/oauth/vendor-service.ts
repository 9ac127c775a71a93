// A service with apps of a loopback vendor (vendor-server.ts). The vendor grants to every client.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { OutgoingResponse } from "#core"
import { type TestHost, type TestHostOptions, testHost } from "#core/testing"
import { Integrations } from "../../../../plugins/agents/integrations/index.ts"
import { patiently } from "../../../waiting.ts"
import { Browser } from "./browser.ts"
import { startVendorServer, type VendorServer, vendorClient } from "./vendor-server.ts"

export const returnUrl = "https://app.example.com/done"

/** Returns the document of a vendor's app. Its API is the vendor's own server. */
export function vendorDocument(slug: string, origin: string, oauth2: object = {}) {
  const urls = {
    authorization_url: `${origin}/authorize`,
    token_url: `${origin}/token`,
    revocation_url: `${origin}/revoke`,
    revocation_ends: "grant",
  }
  return {
    slug,
    name: slug,
    summary: "A vendor on loopback.",
    docs_url: "https://docs.vendor.test/",
    base_url: `${origin}/v3`,
    auth: { oauth2: { ...urls, ...oauth2 } },
    test: { path: "/me" },
  }
}

/** Writes the apps' documents into the folder. Returns settings of a service with these apps. */
export function settingsOf(
  folder: string,
  documents: readonly { readonly slug: string }[],
  servers: readonly Pick<VendorServer, "origin">[],
  integrations: object = {},
): Record<string, string> {
  for (const document of documents) writeFileSync(join(folder, `${document.slug}.json`), JSON.stringify(document))
  const oauth_clients = Object.fromEntries(documents.map(({ slug }) => [slug, vendorClient]))
  return {
    MILLRACE_PLUGINS_SETTINGS: JSON.stringify({
      integrations: { app_folders: [folder], oauth_clients, health_checks: "off", ...integrations },
    }),
    MILLRACE_OUTGOING_ALLOW_HOSTS: servers.map(({ origin }) => new URL(origin).host).join(","),
  }
}

export interface VendorService {
  readonly host: TestHost
  readonly vendor: VendorServer
  /** Connects. Returns the parameters of its return_url. */
  connect(app: string, name?: string, browser?: Browser): Promise<Record<string, string>>
  call(ref: string | undefined): Promise<OutgoingResponse>
  statusOf(ref: string | undefined): Promise<string>
  stop(): Promise<void>
}

export interface VendorOptions extends TestHostOptions {
  readonly also?: readonly Pick<VendorServer, "origin">[]
  readonly vendor?: VendorServer
  /** Further settings of the plugin. */
  readonly integrations?: object
}

/**
 * `apps` creates the documents. The service may call the servers in `also` and the vendor; `vendor` can be an existing server.
 */
export async function startVendorService(
  apps: (origin: string) => { readonly slug: string }[],
  { also = [], vendor: server, integrations, ...options }: VendorOptions = {},
): Promise<VendorService> {
  const vendor = server ?? (await startVendorServer())
  const folder = mkdtempSync(join(tmpdir(), "millrace-apps-"))
  const env = settingsOf(folder, apps(vendor.origin), [vendor, ...also], integrations)
  const host = await testHost({ capture: false, ...options, env: { ...env, ...options.env } })
  return {
    host,
    vendor,
    async connect(app, name = app, browser = new Browser()) {
      const input = { app, name, share_with_org: true, return_url: returnUrl }
      const { status, body } = await patiently(() => host.api<{ connect_url: string }>("POST", "/v1/integrations-connect", input))
      if (status !== 200) throw new Error(`connect was answered ${status}: ${JSON.stringify(body)}`)
      const { url } = await browser.open(body.connect_url, (next) => next.startsWith(returnUrl))
      return Object.fromEntries(new URL(url).searchParams)
    },
    call: (ref = "") => host.get(Integrations).call(host.organization.id, ref, { method: "GET", path: "/contacts" }),
    statusOf: async (ref = "") => (await host.api<{ status: string }>("GET", `/v1/integrations/${ref}`)).body.status,
    async stop() {
      await host.stop()
      await vendor.close()
      rmSync(folder, { recursive: true })
    },
  }
}
