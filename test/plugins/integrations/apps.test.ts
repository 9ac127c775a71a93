// Apps as documents: the shipped ones, a user's own, and errors of documents at start.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { readAppDocuments } from "../../../plugins/agents/integrations/apps/read.ts"
import { Integrations } from "../../../plugins/agents/integrations/index.ts"

interface AppView {
  slug: string
  auth_kinds: string[]
  credentials_schema: { properties?: Record<string, unknown>; required?: string[] } | null
  test: { method: string; path: string } | null
  docs_url: string
  base_url: string
}

const own = `slug: acme-crm
name: Acme CRM
summary: Contacts of Acme.
docs_url: https://docs.acme.test/
base_url: https://{region}.acme.test/v2
parameters: { region: The region. }
auth:
  api_key: { authorise: { in: query, name: key } }
test: { path: /me }
`

describe("apps", () => {
  let folder: string
  let host: TestHost
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "millrace-apps-"))
    writeFileSync(join(folder, "acme.yaml"), own)
    host = await testHost({ env: { MILLRACE_PLUGINS_SETTINGS: JSON.stringify({ integrations: { app_folders: [folder] } }) } })
  })
  after(async () => {
    await host.stop()
    rmSync(folder, { recursive: true })
  })

  const list = async () => (await host.api<{ integration_apps: AppView[] }>("GET", "/v1/integration-apps")).body.integration_apps
  const connect = (app: string, credentials: object) =>
    host.api<{ integration_id: string; message: string; details: { reason: string; fields: { path: string }[] } }>(
      "POST",
      "/v1/integrations-connect",
      { app, credentials, share_with_org: true },
    )

  it("lists those that ship, the user's own, and what each takes", async () => {
    const apps = await list()
    const shipped = [
      "airtable",
      "github",
      "google",
      "hubspot",
      "mailchimp",
      "microsoft",
      "notion",
      "pipedrive",
      "salesforce",
      "slack",
      "stripe",
      "twilio",
    ]
    expect(apps.map(({ slug }) => slug)).to.deep.equal(["acme-crm", ...shipped, "http"].sort())
    const by = new Map(apps.map((app) => [app.slug, app]))
    expect(by.get("google")).to.deep.include({ auth_kinds: ["service_account", "oauth2"] })
    expect(by.get("slack")?.auth_kinds).to.deep.equal(["api_key", "oauth2"])
    expect(by.get("twilio")?.credentials_schema?.required).to.deep.equal(["username", "password"])
    expect(by.get("acme-crm")?.credentials_schema?.required).to.deep.equal(["api_key", "region"])
    for (const { slug, test, docs_url, base_url } of apps.filter(({ slug }) => slug !== "http")) {
      expect(docs_url, slug).to.match(/^https:\/\//)
      expect(base_url, slug).to.match(/^https:\/\//)
      expect(test?.path, slug).to.match(/^\//)
    }
  })

  const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`
  const calls: [string, Record<string, string>, string, Record<string, string>][] = [
    ["acme-crm", { api_key: "k&1", region: "eu" }, "https://eu.acme.test/v2/x?a=1&key=k%261", {}],
    ["airtable", { api_key: "pat1" }, "https://api.airtable.com/v0/x?a=1", { authorization: "Bearer pat1" }],
    ["github", { api_key: "ghp1" }, "https://api.github.com/x?a=1", { authorization: "Bearer ghp1", "x-github-api-version": "2022-11-28" }],
    ["hubspot", { api_key: "pat-1" }, "https://api.hubapi.com/x?a=1", { authorization: "Bearer pat-1" }],
    [
      "mailchimp",
      { api_key: "m1", data_center: "us21" },
      "https://us21.api.mailchimp.com/3.0/x?a=1",
      { authorization: basic("millrace:m1") },
    ],
    ["notion", { api_key: "ntn1" }, "https://api.notion.com/v1/x?a=1", { authorization: "Bearer ntn1", "notion-version": "2022-06-28" }],
    ["pipedrive", { api_key: "p1", company_domain: "acme" }, "https://acme.pipedrive.com/api/v1/x?a=1", { "x-api-token": "p1" }],
    ["slack", { api_key: "xoxb-1" }, "https://slack.com/api/x?a=1", { authorization: "Bearer xoxb-1" }],
    ["stripe", { api_key: "sk_1" }, "https://api.stripe.com/v1/x?a=1", { authorization: "Bearer sk_1" }],
    ["twilio", { username: "AC1", password: "t1" }, "https://api.twilio.com/x?a=1", { authorization: basic("AC1:t1") }],
  ]
  for (const [app, credentials, url, headers] of calls) {
    it(`authorises calls of ${app} as its vendor asks`, async () => {
      const connected = await connect(app, credentials)
      expect(connected.status, JSON.stringify(connected.body)).to.equal(200)
      host.outgoing.fixtures.push(() => ({ status: 200, headers: {}, body: "{}" }))
      await host.get(Integrations).call(host.organization.id, connected.body.integration_id, { method: "GET", path: "/x", query: { a: 1 } })
      const call = host.calls.at(-1)
      expect(call?.url).to.equal(url)
      expect(call?.headers).to.include(headers)
    })
  }

  it("lets no step replace the credential, wherever it is sent", async () => {
    const { body } = await connect("acme-crm", { api_key: "k", region: "eu" })
    const before = host.calls.length
    const call = host
      .get(Integrations)
      .call(host.organization.id, body.integration_id, { method: "GET", path: "/x", query: { key: "mine" } })
    expect(((await call.catch((error: unknown) => error as { details: object })) as { details: object }).details).to.include({
      reason: "request_refused",
    })
    expect(host.calls).to.have.length(before)
  })

  const wrong: [string, string, object, string][] = [
    ["a parameter that would leave its place", "mailchimp", { api_key: "SECRET", data_center: "evil.test/" }, "credentials.data_center"],
    ["a parameter that is an authority", "mailchimp", { api_key: "SECRET", data_center: "a@b" }, "credentials.data_center"],
    ["an unknown field", "slack", { token: "SECRET" }, "credentials.token"],
    ["a secret that no header can hold", "slack", { api_key: "SECRET\r\nX: y" }, "credentials.headers.Authorization"],
  ]
  for (const [what, app, credentials, path] of wrong) {
    it(`refuses ${what}, and repeats nothing secret`, async () => {
      const { status, body } = await connect(app, credentials)
      expect(status).to.equal(400)
      expect(body.details.reason).to.be.oneOf(["invalid_credentials", "header_refused"])
      expect(body.details.fields.map((field) => field.path)).to.include(path)
      expect(JSON.stringify(body)).not.to.include("SECRET")
    })
  }

  it("says that an app of authorizations alone cannot be connected where the service is not set up for it", async () => {
    const { status, body } = await host.api<{ details: object }>("POST", "/v1/integrations-connect", { app: "google" })
    expect(status).to.equal(400)
    expect(body.details).to.include({ reason: "authorization_unavailable" })
  })

  describe("documents of a user", () => {
    const problemsOf = (files: Record<string, string>): readonly string[] => {
      const place = mkdtempSync(join(tmpdir(), "millrace-apps-"))
      try {
        for (const [name, text] of Object.entries(files)) writeFileSync(join(place, name), text)
        readAppDocuments(["."], place)
        return []
      } catch (error) {
        return (error as Error).message.split("\n")
      } finally {
        rmSync(place, { recursive: true })
      }
    }

    it("may be JSON, and need no folder", () => {
      const json = JSON.stringify({ ...readAppDocuments([folder]).at(-1), slug: "acme-json" })
      expect(problemsOf({ "acme.json": json, "notes.txt": "not read" })).to.deep.equal([])
      expect(readAppDocuments(["no/such/folder"])).to.have.length(12)
    })

    const bad: [string, string, RegExp][] = [
      ["a misspelt field", own.replace("base_url", "base_uri"), /^acme\.yaml:5:1: base_uri: Unknown field "base_uri".*base_url/],
      ["a field that is missing", own.replace(/docs_url.*\n/, ""), /^acme\.yaml:1:1: docs_url: "docs_url" is missing/],
      [
        "a parameter that is not described",
        own.replace("region: The", "zone: The"),
        /^acme\.yaml:5:1: base_url: \{region\} is not a parameter; describe it under parameters\.region/,
      ],
      [
        "a parameter that is not used",
        own.replace("{region}", "eu"),
        /parameters\.region: Base_url does not use it; write \{region\} there/i,
      ],
      ["a base with a query", own.replace("/v2", "/v2?x=1"), /^acme\.yaml:5:1: base_url: Expected an absolute http\(s\) URL without query/],
      ["a way to authorise that there is not", own.replace("in: query", "in: cookie"), /acme\.yaml:8:\d+: auth\.api_key\.authorise/],
      [
        "no way to authorise",
        own.replace(/ {2}api_key.*\n/, "  {}\n"),
        /acme\.yaml:7:1: auth: Give at least one of api_key, basic, service_account, oauth2/,
      ],
      [
        "a test path that is a URL",
        own.replace("path: /me", "path: https://a.test/me"),
        /test\.path: Expected a path that starts with one \//,
      ],
      ["text that is not YAML", "slug: [", /^acme\.yaml:1:\d+: /],
      [
        "the slug of an app that ships",
        own.replace("acme-crm", "slack"),
        /acme\.yaml: slug: "slack" is the slug of .*slack\.yaml too; give this app another one/,
      ],
    ]
    for (const [what, text, message] of bad) {
      it(`are refused with file, line, field and remedy: ${what}`, () => {
        const problems = problemsOf({ "acme.yaml": text })
        expect(
          problems.filter((problem) => message.test(problem)),
          problems.join("\n"),
        ).to.have.length(1)
      })
    }

    it("are refused all at once", () => {
      const problems = problemsOf({ "a.yaml": own.replace("base_url", "base_uri"), "b.yaml": own.replace("/v2", "/v2?x=1") })
      expect(
        problems.some((problem) => problem.startsWith("a.yaml:")) && problems.some((problem) => problem.startsWith("b.yaml:")),
      ).to.equal(true)
    })
  })
})
