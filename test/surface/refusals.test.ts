// Refusals over HTTP for clients: code, status and machine-readable reason.
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { projectRoot } from "../import-graph.ts"
import { patiently } from "../waiting.ts"

const nobody = "0190a7c4-1111-7000-8000-000000000000"

describe("refusals over HTTP", () => {
  let host: TestHost
  before(async () => {
    host = await testHost()
    const pipeline = { name: "Plain", state: "active", auth_mode: "none", pipeline: [{ type: "respond", status: 201 }] }
    const response = await host.api("POST", "/v1/event-pipelines", pipeline)
    expect(response.status, JSON.stringify(response.body)).to.equal(200)
    const throws = { ...pipeline, name: "Throws", transform_js: "function transform() { throw new Error('no') }" }
    expect((await host.api("POST", "/v1/event-pipelines", throws)).status).to.equal(200)
    const page = await host.api("POST", "/v1/pages", { title: "Landing", variants: [{ key: "control", html: "<p>Hi</p>" }] })
    expect(page.status, JSON.stringify(page.body)).to.equal(200)
    expect((await host.api("POST", "/v1/pages/landing/publish", {})).status).to.equal(200)
    const applied = await host.api("POST", "/v1/event-pipelines/apply", { documents: [document("Drifted", "active")] })
    expect(applied.status, JSON.stringify(applied.body)).to.equal(200)
    await host.api("POST", "/v1/datasets", { name: "Leads" })
    await host.api("PUT", "/v1/event-pipelines/drifted", { name: "By hand" })
  })
  after(() => host.stop())

  function document(name: string, state: string, more: object = {}) {
    return { path: `${name}.yaml`, document: { slug: name.toLowerCase(), name, state, auth_mode: "none", ...more } }
  }

  type Call = readonly [method: string, path: string, body?: unknown, headers?: Record<string, string>]
  const cases: readonly [reason: string, status: number, code: string, call: Call][] = [
    ["unknown_path", 404, "not_found", ["GET", "/v1/nothing-here"]],
    ["method_not_allowed", 405, "unimplemented", ["PUT", "/v1/datasets", {}]],
    ["no_active_pipeline", 404, "not_found", ["POST", `/v1/inbound/in_${"A".repeat(22)}`, {}]],
    ["execution_not_found", 404, "not_found", ["POST", `/v1/event-pipelines/plain/executions/${nobody}/replay`, {}]],
    [
      "literal_secret",
      400,
      "invalid_argument",
      [
        "POST",
        "/v1/event-pipelines/apply",
        { documents: [document("Told", "active", { auth_mode: "hmac_sha256", auth_config: { secret: "plain" } })] },
      ],
    ],
    [
      "duplicate_slug",
      400,
      "invalid_argument",
      ["POST", "/v1/event-pipelines/apply", { documents: [document("Twin", "active"), document("Twin", "active")] }],
    ],
    [
      "invalid_document",
      400,
      "invalid_argument",
      ["POST", "/v1/event-pipelines/apply", { documents: [{ path: "a", document: { state: 7 } }] }],
    ],
    ["drift", 400, "failed_precondition", ["POST", "/v1/event-pipelines/apply", { documents: [document("Drifted", "disabled")] }]],
    ["unknown_app", 400, "invalid_argument", ["POST", "/v1/integrations-connect", { app: "no-such-app", credentials: {} }]],
    [
      "nothing_to_rotate",
      404,
      "not_found",
      [
        "POST",
        "/v1/integrations-connect",
        { app: "http", credentials: { base_url: "https://a.test", headers: {} }, rotate_credentials: true },
      ],
    ],
    ["organization_not_accessible", 404, "not_found", ["GET", "/v1/me", undefined, { "x-organization-id": "elsewhere" }]],
    ["job_not_found", 404, "not_found", ["GET", "/v1/jobs/none"]],
    ["key_not_found", 404, "not_found", ["POST", `/v1/api-keys/${nobody}/revoke`, {}]],
    ["page_not_found", 404, "not_found", ["GET", "/v1/pages/none"]],
    ["dataset_not_found", 404, "not_found", ["GET", "/v1/datasets/none"]],
    ["row_not_found", 404, "not_found", ["DELETE", `/v1/datasets/leads/rows/${nobody}`]],
    ["event_pipeline_not_found", 404, "not_found", ["GET", "/v1/event-pipelines/none"]],
    ["screenshot_not_found", 404, "not_found", ["POST", "/v1/screenshot/result", { job_id: nobody }]],
    ["integration_not_found", 404, "not_found", ["GET", "/v1/integrations/none"]],
    ["body_not_an_object", 400, "invalid_argument", ["POST", "/v1/datasets", ["Leads"]]],
    [
      "unsupported_charset",
      415,
      "invalid_argument",
      ["POST", "/v1/datasets", { name: "Latin" }, { "content-type": "application/json; charset=latin1" }],
    ],
    ["origin_not_allowed", 403, "permission_denied", ["POST", "/mcp", {}, { origin: "https://elsewhere.test" }]],
    ["endpoint_only", 400, "failed_precondition", ["POST", "/v1/event-pipelines/page-events-landing/events", { payload: {} }]],
    ["transform_failed", 400, "failed_precondition", ["POST", "/v1/event-pipelines/throws/test", { payload: {} }]],
    [
      "invalid_credentials",
      400,
      "invalid_argument",
      ["POST", "/v1/integrations-connect", { app: "http", credentials: { base_url: "nowhere" } }],
    ],
    ["unknown_variant", 400, "invalid_argument", ["POST", "/v1/screenshot/start", { page: "landing", variant: "none" }]],
  ]

  for (const [reason, status, code, [method, path, body, headers = {}]] of cases)
    it(`${reason}: ${method} ${path}`, async () => {
      const call = () => host.api<{ code: string; details: Record<string, unknown> }>(method, path, body, { headers })
      const answer = await patiently(call)
      expect([answer.status, answer.body.code, answer.body.details?.["reason"]], JSON.stringify(answer.body)).to.deep.equal([
        status,
        code,
        reason,
      ])
    })
})

describe("reasons of refusals", () => {
  it("are each provoked by a test", () => {
    const page = readFileSync(join(projectRoot, "docs/reference/errors.md"), "utf8")
    const reasons = [...page.slice(page.indexOf("| reason |")).matchAll(/^\| `(\w+)` \|/gm)].map(([, reason = ""]) => reason)
    expect(reasons, "the table of reasons").to.include("invalid_fields")
    const tests = globSync(["{test,plugins,core}/**/*.test.ts", "test/storage/contract*.ts"], { cwd: projectRoot }).map((path) =>
      readFileSync(join(projectRoot, path), "utf8"),
    )
    const words = new Set(tests.flatMap((text) => [...text.matchAll(/["'` ](\w+)["'`]/g)].map(([, word]) => word)))
    const unnamed = reasons.filter((reason) => !words.has(reason))
    expect(unnamed, "reasons that no test provokes").to.deep.equal([])
  })
})
