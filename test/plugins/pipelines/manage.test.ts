// Event pipelines as a resource: refusals of a save with reasons, purposes, slugs, revisions, created datasets, warnings, and the
// walls between organizations.
import { expect } from "chai"
import { UnitsOfWork } from "#core"
import type { TestHost } from "#core/testing"
import { Organizations } from "../../../plugins/platform/organizations/index.ts"
import { Bench, post } from "../../pipeline/bench.ts"
import { onStoresInTurn } from "../../pipeline/stores.ts"

const write = { type: "dataset.write", dataset_slug: "leads", key: "email" }

interface Refused {
  code: string
  message: string
  details: {
    reason?: string
    fields?: { path: string; message: string }[]
    findings?: { rule: string; pointer: string; message: string }[]
    current_revision?: number
  }
}

onStoresInTurn("event pipelines", ({ start }) => {
  let host: TestHost
  let bench: Bench
  before(async () => {
    host = await start()
    bench = new Bench(host)
  })
  const refused = async (document: object) => {
    const { status, body } = await bench.save(document)
    return { status, ...(body as unknown as Refused) }
  }
  const put = (slug: string, change: object) =>
    host.api<Refused & { revision: number; warnings: string[]; purpose: string; state: string }>(
      "PUT",
      `/v1/event-pipelines/${slug}`,
      change,
    )

  it("are made as proposed custom_http pipelines behind hmac_sha256, with a secret shown once", async () => {
    const { status, body } = await host.api("POST", "/v1/event-pipelines", { name: "Plain Défaults" })
    expect(status).to.equal(200)
    expect(body).to.include({
      slug: "plain-defaults",
      state: "proposed",
      source_kind: "custom_http",
      auth_mode: "hmac_sha256",
      purpose: "custom",
      revision: 1,
    })
    expect(body["secret"]).to.match(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(body["endpoint_id"]).to.match(/^in_[0-9A-Za-z]{22}$/)
    expect(body["inbound_url"]).to.equal(`${host.url}/v1/inbound/${body["endpoint_id"]}`)
    const read = await host.api("GET", "/v1/event-pipelines/plain-defaults")
    expect(read.body).not.to.have.property("secret")
    expect(read.body["auth_config"]).to.deep.equal({ secret: "[redacted]" })
    const byId = await host.api("GET", `/v1/event-pipelines/${body["id"]}`)
    expect(byId.body).to.deep.equal(read.body)
    const response = await host.api("GET", "/v1/event-pipelines")
    expect(JSON.stringify(response.body)).not.to.include(body["secret"])
  })

  it("make the datasets that they write to, once, and say so", async () => {
    const first = await bench.make({ name: "Leads one", pipeline: [write] })
    expect([first.created_datasets, first.write_target_datasets]).to.deep.equal([["leads"], ["default.leads"]])
    const second = await bench.make({ name: "Leads two", pipeline: [{ ...write, dataset_slug: "default.leads" }] })
    expect([second.created_datasets, second.write_target_datasets]).to.deep.equal([[], ["default.leads"]])
    const foreign = await refused({ name: "Foreign", pipeline: [{ ...write, dataset_slug: "acme.leads" }] })
    expect([foreign.status, foreign.code]).to.deep.equal([400, "invalid_argument"])
    const uuid = await refused({ name: "Uuid", pipeline: [{ ...write, dataset_slug: "01900000-0000-7000-8000-000000000000" }] })
    expect(uuid.details.fields?.[0]?.path).to.equal("pipeline.0.dataset_slug")
  })

  it("are promoted to record_capture when they write, an explicit custom too; also writes under handlers and for_each", async () => {
    expect(await bench.make({ name: "P1", purpose: "custom", pipeline: [write] })).to.include({ purpose: "record_capture" })
    expect(await bench.make({ name: "P2", purpose: "record_capture", pipeline: [{ ...write, for_each: "event" }] })).to.include({
      purpose: "record_capture",
    })
    const handled = {
      name: "P3",
      pipeline: [{ type: "email.send", to: "a@b.test", heading: "x", on_error: "keep" }],
      handlers: { keep: { ...write, dataset_slug: "errors" } },
    }
    expect(await bench.make(handled))
      .to.include({ purpose: "record_capture" })
      .and.to.deep.include({ created_datasets: ["errors"] })
    const empty = await refused({ name: "P4", purpose: "record_capture", pipeline: [] })
    expect([empty.status, empty.details.fields?.[0]?.path]).to.deep.equal([400, "purpose"])
    const reserved = await refused({ name: "P5", purpose: "page_events" })
    expect([reserved.status, reserved.details.fields?.[0]?.path]).to.deep.equal([400, "purpose"])
    await bench.make({ name: "P6", pipeline: [] })
    expect((await put("p6", { pipeline: [write], purpose: "custom" })).body.purpose).to.equal("record_capture")
    expect((await put("p6", { pipeline: [] })).body.purpose).to.equal("custom")
    expect((await put("p6", { purpose: "page_events" })).status).to.equal(400)
    const response = await host.api<{ event_pipelines: { slug: string }[] }>("GET", "/v1/event-pipelines?purpose=record_capture&limit=100")
    expect(response.body.event_pipelines.map(({ slug }) => slug))
      .to.include.members(["p1", "p2", "p3"])
      .and.not.to.include("p6")
  })

  it("refuse a taken slug", async () => {
    await bench.make({ name: "Taken" })
    const again = await refused({ name: "taken!" })
    expect([again.status, again.code, again.details.reason]).to.deep.equal([409, "already_exists", "slug_taken"])
    const both = await Promise.all([bench.save({ name: "Race" }), bench.save({ name: "Race" })])
    expect(both.map(({ status }) => status).sort()).to.deep.equal([200, 409])
  })

  it("are changed at the revision that the caller read, or not at all", async () => {
    await bench.make({ name: "Revised", pipeline: [] })
    const first = await put("revised", { name: "Renamed", expected_revision: 1 })
    expect([first.status, first.body.revision]).to.deep.equal([200, 2])
    const stale = await put("revised", { name: "Lost", expected_revision: 1 })
    expect([stale.status, stale.body.code, stale.body.details]).to.deep.equal([
      409,
      "aborted",
      { reason: "revision_mismatch", slug: "revised", current_revision: 2 },
    ])
    expect((await host.api("GET", "/v1/event-pipelines/revised")).body).to.include({ name: "Renamed", slug: "revised", revision: 2 })
    const race = await Promise.all([
      put("revised", { name: "A", expected_revision: 2 }),
      put("revised", { name: "B", expected_revision: 2 }),
    ])
    expect(race.map(({ status }) => status).sort()).to.deep.equal([200, 409])
    expect((await put("revised", {})).body.details.reason).to.equal("no_fields")
    expect((await put("nowhere", { name: "x" })).status).to.equal(404)
  })

  it("keep their source and auth: naming them unchanged is fine, changing them is not", async () => {
    await bench.make({ name: "Fixed", auth_mode: "hmac_sha256", auth_config: { header: "X-Sig" } })
    const same = {
      source_kind: "custom_http",
      auth_mode: "hmac_sha256",
      auth_config: { header: "X-Sig", secret: "[redacted]" },
      state: "disabled",
    }
    expect((await put("fixed", same)).body).to.include({ state: "disabled" })
    for (const [field, value] of Object.entries({ source_kind: "browser_form", auth_mode: "none", auth_config: { header: "X-Other" } })) {
      const { status, body } = await put("fixed", { [field]: value })
      expect([status, body.details.fields?.[0]?.path]).to.deep.equal([400, field])
    }
    expect((await put("fixed", { auth_config: { header: "X-Sig", secret: "mine" } })).status).to.equal(400)
  })

  it("say everything that is wrong with a document, with where, and are not saved", async () => {
    const wrong = await refused({
      name: "Wrong",
      transform_js: "function transform(event) {\n  return {{ x: 1 }\n}",
      request_schema: { type: "strnig" },
      pipeline: [
        { id: "a", type: "dataset.wirte", dataset_slug: "x" },
        { id: "b", type: "live.broadcast", channel: "x", needs: ["c"] },
        { id: "c", type: "live.broadcast", channel: "x", needs: ["b"] },
        { id: "d", type: "email.send", to: "a@b.test", heading: "x", colour: "red" },
      ],
    })
    expect([wrong.status, wrong.details.reason]).to.deep.equal([400, "compile_failed"])
    const findings = wrong.details.findings ?? []
    expect(findings.map(({ pointer }) => pointer)).to.include.members(["/pipeline/0/type"])
    const rules = new Set(findings.map(({ rule }) => rule))
    expect([...rules].join(" "))
      .to.match(/transform/)
      .and.to.match(/circular|unknown/)
    expect(findings.find(({ pointer }) => pointer === "/transform_js")?.message).to.match(/^Line 2, column 11: /)
    expect(wrong.message).not.to.include("\\n    at ")
    expect((await host.api("GET", "/v1/event-pipelines/wrong")).status).to.equal(404)
    expect((await host.api("GET", "/v1/datasets/x")).status).to.equal(404)
    const checked = await host.api<{ ok: boolean; findings: unknown[] }>("POST", "/v1/event-pipelines/validate", {
      document: { name: "V", pipeline: [{ type: "nope" }] },
    })
    expect([checked.status, checked.body.ok, checked.body.findings.length]).to.deep.equal([200, false, 1])
    const fine = await host.api("POST", "/v1/event-pipelines/validate", {
      document: { name: "V", auth_mode: "none", pipeline: [{ type: "live.broadcast", channel: "x" }] },
    })
    expect(fine.body).to.include({ ok: true })
    expect(fine.body["digest"]).to.be.a("string")
    const unknown = await refused({ name: "Unknown", pipelines: [] })
    expect(unknown.details.fields?.[0]?.message).to.include("pipeline")
  })

  it("are internal without an auth mode and an endpoint", async () => {
    const { body } = await host.api("POST", "/v1/event-pipelines", { name: "Inside", state: "active", source_kind: "internal" })
    expect(body).to.include({ auth_mode: "none", endpoint_id: null, inbound_url: null }).and.not.to.have.property("secret")
    const other = await refused({ name: "Inside two", source_kind: "internal", auth_mode: "shared_secret_header" })
    expect(other.details.fields?.[0]?.path).to.equal("auth_mode")
  })

  it("take back what a read answered, and refuse a change of what cannot change", async () => {
    await bench.make({ name: "Round trip", request_schema: { type: "object" }, pipeline: [{ ...write, dataset_slug: "round" }] })
    const { body: read } = await host.api<Record<string, unknown>>("GET", "/v1/event-pipelines/round-trip")
    const same = await put("round-trip", { ...read, name: "Round trip II" })
    const changed = same.body as unknown as { name: string; id: string }
    expect([same.status, changed.name, changed.id]).to.deep.equal([200, "Round trip II", read["id"]])
    for (const [field, value] of Object.entries({
      id: "0198c0de-0000-7000-8000-000000000001",
      created_at: "2020-01-01T00:00:00.000Z",
      inbound_url: "https://x.test/",
    })) {
      const { status, body } = await put("round-trip", { name: "Never", [field]: value })
      const { message, details } = body as unknown as { message: string; details: { reason: string } }
      expect([status, details.reason, message.includes(`"${field}"`)], field).to.deep.equal([400, "read_only_field", true])
    }
    expect((await host.api<{ name: string }>("GET", "/v1/event-pipelines/round-trip")).body.name).to.equal("Round trip II")
  })

  it("need a page of their own for public_artifact", async () => {
    const none = await refused({ name: "Public", auth_mode: "public_artifact" })
    expect([none.status, none.message]).to.satisfy(
      ([status, message]: [number, string]) => status === 400 && message.includes("owner_artifact_id"),
    )
    const foreign = await refused({
      name: "Public",
      auth_mode: "public_artifact",
      owner_artifact_id: "01900000-0000-7000-8000-000000000000",
    })
    expect(foreign.details.fields?.[0]?.path).to.equal("owner_artifact_id")
  })

  it("are not found from another organization: by slug, by id, their executions neither", async () => {
    const mine = await bench.make({ name: "Mine", pipeline: [write] })
    const { body: message } = await post(mine.inbound_url, { email: "a@b.test" })
    const other = await host.get(UnitsOfWork).run(async (work) => {
      const organizations = host.get(Organizations)
      const organization = organizations.create(work, { name: "Other", slug: "other" })
      const owner = organizations.addUser(work, { email: `owner@other.test`, name: "Other" })
      organizations.addMember(work, organization.id, owner.id, "owner")
      return organization
    })
    const headers = { "x-organization-id": other.id }
    const paths: [string, string, object?][] = [
      ["GET", "/v1/event-pipelines/mine"],
      ["GET", `/v1/event-pipelines/${mine.id}`],
      ["PUT", "/v1/event-pipelines/mine", { name: "Stolen" }],
      ["POST", "/v1/event-pipelines/mine/rotate-secret", {}],
      ["POST", "/v1/event-pipelines/mine/events", { payload: {} }],
      ["POST", "/v1/event-pipelines/mine/test", { payload: {} }],
      ["GET", "/v1/event-pipelines/mine/executions"],
      ["GET", `/v1/event-pipelines/${mine.id}/executions/${message.execution_id}`],
      ["POST", `/v1/event-pipelines/${mine.id}/executions/${message.execution_id}/replay`],
    ]
    for (const [method, path, body] of paths) {
      const answer = await host.api<Refused>(method, path, body, { headers })
      expect([method, path, answer.status, answer.body.code]).to.deep.equal([method, path, 404, "not_found"])
      expect(answer.body.message).not.to.include("Mine")
    }
    expect((await host.api("GET", "/v1/event-pipelines/mine")).body).to.include({ name: "Mine", revision: 1 })
  })

  it("run while disabled by the force of an admin alone", async () => {
    const { slug } = await bench.make({ name: "Switched off", source_kind: "internal" })
    const send = (more: object, key = host.adminKey) =>
      host.api<Refused & { execution_id: string }>("POST", `/v1/event-pipelines/${slug}/events`, { payload: { n: 1 }, ...more }, { key })
    const { execution_id } = (await send({})).body
    expect((await put(slug, { state: "disabled" })).status).to.equal(200)
    const member = await host.api<{ secret: string }>("POST", "/v1/api-keys", { name: "member", role: "member" })
    const replay = (key: string) =>
      host.api<Refused>("POST", `/v1/event-pipelines/${slug}/executions/${execution_id}/replay`, { force: true }, { key })
    const key = member.body.secret
    for (const refused of [await send({ force: true }, key), await replay(key)])
      expect([refused.status, refused.body.details.reason]).to.deep.equal([403, "role_too_low"])
    expect(await bench.entries(slug)).to.have.length(1)
    for (const answer of [await send({ force: true }), await replay(host.adminKey)])
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
  })

  it("list by state, source and page, and their executions by status, time and test", async () => {
    await bench.make({ name: "Form", source_kind: "browser_form", state: "disabled" })
    const forms = await host.api<{ event_pipelines: { slug: string }[] }>(
      "GET",
      "/v1/event-pipelines?source_kind=browser_form&state=disabled",
    )
    expect(forms.body.event_pipelines.map(({ slug }) => slug)).to.deep.equal(["form"])
    const names: string[] = []
    let cursor = ""
    do {
      const page = await host.api<{ event_pipelines: { slug: string }[]; next_cursor: string }>(
        "GET",
        `/v1/event-pipelines?limit=4&cursor=${encodeURIComponent(cursor)}`,
      )
      names.push(...page.body.event_pipelines.map(({ slug }) => slug))
      cursor = page.body.next_cursor
    } while (cursor !== "")
    expect(new Set(names).size).to.equal(names.length)
    expect(names).to.include.members(["form", "mine", "plain-defaults"])

    const pipeline = await bench.make({ name: "Filtered", request_schema: { type: "object", required: ["n"] } })
    await post(pipeline.inbound_url, { n: 1 }, { "x-service-test": "true" })
    await post(pipeline.inbound_url, {})
    const at = (await bench.entries("filtered"))[0]?.received_at ?? ""
    const count = async (query: string) => (await bench.entries("filtered", query)).length
    expect([
      await count("?status=accepted"),
      await count("?status=rejected"),
      await count("?is_test=true"),
      await count("?is_test=false"),
    ]).to.deep.equal([1, 1, 1, 1])
    expect((await count(`?since=${at}`)) + (await count(`?until=${at}`))).to.equal(2)
    expect(await count("?since=2999-01-01T00:00:00Z")).to.equal(0)
  })

  it("are warned of a page that is not published, while they are active, until the warning is acknowledged", async () => {
    const { body: page } = await host.api<{ id: string; slug: string }>("POST", "/v1/pages", {
      title: "Drafted",
      variants: [{ key: "control", html: "<form><input name=email></form>" }],
    })
    const warned = ({ warnings }: { warnings: string[] }) => warnings.filter((text) => text.startsWith("unpublished-page: "))
    const served = {
      source_kind: "browser_form",
      auth_mode: "public_artifact",
      owner_artifact_id: page.id,
      pipeline: [{ ...write, dataset_slug: "drafted" }],
    }
    const pipeline = await bench.make({ name: "Drafted form", ...served })
    expect(warned(pipeline)).to.have.length(1)
    expect(warned(pipeline)[0])
      .to.include('"drafted" is not published')
      .and.include("/v1/pages/drafted/publish")
      .and.include("acknowledged_warnings")
    const validated = async (document: object) => {
      const { body } = await host.api<{ ok: boolean; findings: { rule: string; pointer: string; level: string }[] }>(
        "POST",
        "/v1/event-pipelines/validate",
        { document: { name: "Drafted form two", state: "active", ...served, ...document } },
      )
      return body.findings.filter(({ rule }) => rule === "unpublished-page").map(({ pointer, level }) => [pointer, level])
    }
    expect(await validated({})).to.deep.equal([["/owner_artifact_id", "warning"]])
    for (const quiet of [{ state: "proposed" }, { acknowledged_warnings: ["unpublished-page"] }, { auth_mode: "none" }]) {
      expect(await validated(quiet), JSON.stringify(quiet)).to.deep.equal([])
    }
    expect(warned((await put("drafted-form", { acknowledged_warnings: ["unpublished-page"] })).body)).to.deep.equal([])
    expect(warned((await put("drafted-form", { acknowledged_warnings: [] })).body)).to.have.length(1)
    expect(warned((await put("drafted-form", { state: "disabled" })).body)).to.deep.equal([])
    expect((await host.api("POST", `/v1/pages/${page.slug}/publish`)).status).to.equal(200)
    expect(warned((await put("drafted-form", { state: "active" })).body)).to.deep.equal([])
    expect((await host.api("POST", `/v1/pages/${page.slug}/unpublish`)).status).to.equal(200)
    expect(warned((await put("drafted-form", { name: "Drafted form again" })).body)).to.have.length(1)
    expect(warned((await put("page-events-drafted", { name: "The service's own" })).body)).to.deep.equal([])
    await put("drafted-form", { state: "disabled" })
  })

  it("list what a document may name: action types and auth modes, with their schemas", async () => {
    const actions = await host.api<{ action_types: { type: string }[] }>("GET", "/v1/action-types")
    expect(actions.body.action_types.map(({ type }) => type)).to.include.members([
      "dataset.write",
      "email.send",
      "integration.call",
      "live.broadcast",
      "respond",
      "http.request",
      "pipeline.send",
    ])
    const modes = await host.api<{ auth_modes: { mode: string; config_schema: { properties: Record<string, { enum?: string[] }> } }[] }>(
      "GET",
      "/v1/auth-modes",
    )
    const provider = modes.body.auth_modes.find(({ mode }) => mode === "provider_signature")
    expect(provider?.config_schema.properties["provider"]?.enum).to.include.members(["calendly", "stripe", "twilio", "hubspot_v3"])
    expect(modes.body.auth_modes.map(({ mode }) => mode)).to.have.members([
      "hmac_sha256",
      "shared_secret_header",
      "timestamped_signature",
      "provider_signature",
      "authenticated_viewer",
      "public_artifact",
      "none",
    ])
  })
})
