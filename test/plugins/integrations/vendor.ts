// A vendor's API on loopback, and its app's document. Answers its test call as the test decides.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import type { ServerResponse } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type TestHost, type TestHostOptions, testHost } from "#core/testing"
import { listen, type Peer } from "../outgoing-http/loopback-peer.ts"

/** Answers of the vendor. Each repeats the credentials in its body, like a careless vendor. */
export const answers = {
  good: (response: ServerResponse) => json(response, 200, { ok: true }),
  unauthorized: (response: ServerResponse) => json(response, 401, {}),
  forbidden: (response: ServerResponse) => json(response, 403, {}),
  limited: (response: ServerResponse) => json(response.setHeader("retry-after", "7"), 429, {}),
  broken: (response: ServerResponse) => json(response, 500, {}),
  missing: (response: ServerResponse) => json(response, 404, {}),
  refusing: (response: ServerResponse) => json(response, 200, { ok: false }),
  other: (response: ServerResponse) => json(response, 200, { fine: true }),
  malformed: (response: ServerResponse) =>
    response.writeHead(200, { "content-type": "application/json" }).end('{"ok": true, "echo": "SECRET'),
  truncated: (response: ServerResponse) => {
    response.writeHead(200, { "content-type": "application/json", "content-length": "1000" })
    response.write('{"ok": true, "echo": "SECRET', () => response.destroy())
  },
  gone: (response: ServerResponse) => response.destroy(),
  away: (response: ServerResponse) => response.writeHead(302, { location: "http://localhost:1/SECRET" }).end(),
} as const
export type Answer = keyof typeof answers

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ ...body, echo: "SECRET" }))
}

export interface Vendor {
  readonly peer: Peer
  readonly host: TestHost
  /** Settings for another node. */
  readonly settings: Record<string, string>
  /** Sets the answer from now on. */
  answer(how: Answer): void
  close(): Promise<void>
}

/**
 * Starts a service with the app `vendor`; the peer is its API. `more`: further fields of the document. Health checks are off by
 * default.
 */
export async function startVendor(options: TestHostOptions = {}, more: object = {}, health_checks = "off"): Promise<Vendor> {
  let how: Answer = "good"
  const peer = await listen((_, response) => void answers[how](response))
  const folder = mkdtempSync(join(tmpdir(), "millrace-apps-"))
  const document = {
    slug: "vendor",
    name: "Vendor",
    summary: "A vendor on loopback.",
    docs_url: "https://docs.vendor.test/",
    base_url: `${peer.origin}/api`,
    auth: { api_key: {} },
    test: { path: "/me", success: { json: { field: "ok", equals: true } } },
    ...more,
  }
  writeFileSync(join(folder, "vendor.json"), JSON.stringify(document))
  const settings = {
    MILLRACE_OUTGOING_ALLOW_HOSTS: `127.0.0.1:${peer.port}`,
    MILLRACE_PLUGINS_SETTINGS: JSON.stringify({ integrations: { app_folders: [folder], health_checks } }),
  }
  const host = await testHost({ capture: false, ...options, env: { ...settings, ...options.env } })
  return {
    peer,
    host,
    settings,
    answer: (next) => {
      how = next
    },
    async close() {
      await host.stop()
      await peer.close()
      rmSync(folder, { recursive: true })
    },
  }
}
