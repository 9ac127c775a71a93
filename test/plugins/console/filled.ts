// A service with data in every area, like a small company after a week. Tests of all screens use it.
import { expect } from "chai"
import { UnitsOfWork } from "#core"
import type { TestHost, TestHostOptions } from "#core/testing"
import { Organizations } from "../../../plugins/platform/organizations/index.ts"
import { browserFolder } from "../../chromium.ts"
import { until } from "../../waiting.ts"
import { pluginSettings } from "../buckets/stores.ts"
import { connect, type Providers, providerEnv, startProviders } from "../conversations/providers.ts"
import { chatMessage, makePipelines, postMeta } from "../conversations/webhooks.ts"
import { Traffic } from "../experiments/live-traffic.ts"
import { type ModelServer, modelServer } from "../models/model-server.ts"

type Made = Record<string, unknown> & { readonly id: string; readonly slug: string }

export interface Servers {
  readonly models: ModelServer
  readonly providers: Providers
  close(): Promise<void>
}

export async function startServers(): Promise<Servers> {
  const [models, providers] = [await modelServer(), await startProviders()]
  models.answer(({ system, schema }) => {
    if (schema === undefined) return "We are open Monday to Friday, 9 to 17."
    if (system.includes("compare")) return { json: { reasoning: "Says what it costs.", winner: "B", confidence: 0.9 } }
    return { json: { answer: "I would ask for an offer.", likelihood: 4, pass: true, reason: "Names the hours." } }
  })
  return {
    models,
    providers,
    async close() {
      await models.close()
      await providers.close()
    },
  }
}

export function optionsOf({ models, providers }: Servers): TestHostOptions {
  const model = { base_url: models.url, model: "m-1", prices: { input: 1_000_000, output: 2_000_000 } }
  const settings = pluginSettings({
    ...(JSON.parse(Traffic.settings()["MILLRACE_PLUGINS_SETTINGS"] ?? "{}") as object),
    conversations: { quiet_from: "00:00", quiet_until: "00:00" },
    models: { default: model, judge: model, persona: model, max_retries: 0 },
    experiments: { render_pages: false, sync_deadline_ms: 60_000 },
    screenshots: { browser_folder: browserFolder },
  })
  return { env: { ...providerEnv(providers), ...settings, MILLRACE_JOBS_POLL_MS: "50" }, capture: false }
}

const minuteMs = 60_000

export class Filling {
  readonly #host: TestHost
  readonly #servers: Servers

  constructor(host: TestHost, servers: Servers) {
    this.#host = host
    this.#servers = servers
  }

  async all(): Promise<void> {
    await this.delivery()
    await this.pipelines()
    await this.pages()
    await this.people()
    await this.agents()
    await this.workstreams()
    await this.knowledge()
    await this.heartbeats()
    await this.settings()
    await this.conversations()
    this.#host.clock.move(90 * minuteMs)
  }

  async call<T = Made>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await this.#host.api<T>(method, path, body)
    expect(answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`).to.be.below(300)
    return answer.body
  }

  async pipelines(): Promise<void> {
    const schema = { type: "object", required: ["email"], properties: { email: { type: "string" }, budget: { type: "number" } } }
    const save = {
      id: "save",
      type: "dataset.write",
      dataset_slug: "website-leads",
      key: "email",
      row: { email: "{{ event.email }}", name: "{{ event.name }}", budget: "{{ event.budget }}", asked_at: "{{ event.asked_at }}" },
    }
    const tell = { id: "tell", type: "http.request", url: "https://crm.example.com/leads", retry: { max_attempts: 1 } }
    await this.call("POST", "/v1/event-pipelines", {
      name: "Website leads",
      state: "active",
      source_kind: "internal",
      request_schema: schema,
      transform_js: "function transform(event) { return { ...event, email: event.email.toLowerCase() } }",
      pipeline: [save, { id: "live", type: "live.broadcast", channel: "leads" }],
    })
    await this.call("POST", "/v1/event-pipelines", { name: "Tell the CRM", state: "active", source_kind: "internal", pipeline: [tell] })
    await this.call("POST", "/v1/event-pipelines", {
      name: "Orders",
      auth_mode: "hmac_sha256",
      state: "active",
      pipeline: [{ ...save, dataset_slug: "orders" }],
    })
    const gated = {
      id: "refund",
      type: "http.request",
      gate: true,
      url: "https://pay.example.com/refunds",
      body: { order: "{{ event.order }}" },
    }
    await this.call("POST", "/v1/event-pipelines", { name: "Refunds", state: "active", source_kind: "internal", pipeline: [gated] })
    const names = ["Ada Lovelace", "Grace Hopper", "Alan Turing", "Edsger Dijkstra", "Barbara Liskov", "Donald Knuth"]
    for (const [index, name] of [...names, ...names].entries()) {
      const email = `${name.split(" ")[0]}${index}@Example.com`
      const payload = {
        email,
        name,
        budget: 1_000 + index * 250,
        asked_at: new Date(this.#host.clock.now() - index * minuteMs).toISOString(),
      }
      await this.call("POST", "/v1/event-pipelines/website-leads/events", { payload })
    }
    await this.#host.api("POST", "/v1/event-pipelines/website-leads/events", { payload: { name: "No address" } })
    await this.call("POST", "/v1/event-pipelines/tell-the-crm/events", { payload: { email: "ada@example.com" } })
    await this.call("POST", "/v1/event-pipelines/refunds/events", { payload: { order: "A-1007" } })
    await until("a dead letter", async () => (await this.call<{ jobs: unknown[] }>("GET", "/v1/jobs?state=dead")).jobs[0])
    await until("an approval", async () => (await this.call<{ approvals: unknown[] }>("GET", "/v1/approvals")).approvals[0])
    await this.call("POST", "/v1/replay-plans", { pipeline: "website-leads", status: "accepted" })
  }

  async pages(): Promise<void> {
    const fair = ["<h1>Autumn fair</h1>", "<h1>Meet us in autumn</h1>"].map((own, place) => ({ key: "ab"[place], html: own }))
    await this.call("POST", "/v1/pages", { title: "Autumn fair", variants: fair })
    await this.call("POST", "/v1/experiments", { name: "Autumn headline", page: "autumn-fair" })
    const traffic = new Traffic(this.#host)
    const html = [
      "<h1>Spring offer</h1><p>Half the price until May.</p><form><input name='email'><button>Ask</button></form>",
      "<h1>Spring!</h1><p>Ask for an offer that fits.</p>",
    ]
    const { page, slug } = await traffic.running("Spring offer", { hypothesis: "A shorter headline brings more leads." }, html)
    for (const name of ["Founder", "Buyer"])
      await this.call("POST", "/v1/personas", {
        name,
        description: `A ${name.toLowerCase()} of a small company`,
        goals: ["Save time"],
        fears: ["Long contracts"],
      })
    await this.call("POST", `/v1/experiments/${slug}/panel`, { draws: 1 })
    await this.call("POST", `/v1/experiments/${slug}/tournament`, {})
    await this.call("POST", "/v1/page-feedback", { items: [{ experiment_slug: slug, variant_key: "a", feedback: "Where is the price?" }] })
    const more = { device_type: "mobile", utm_source: "letter" }
    await traffic.write([
      ...traffic.rowsOf(page, "a", { n: 60, leads: 6, ...more }),
      ...traffic.rowsOf(page, "b", { n: 62, leads: 19, device_type: "desktop", utm_source: "search" }),
    ])
    await traffic.counted()
    const sql = "SELECT variant, count(*) AS visitors FROM sessions GROUP BY variant ORDER BY variant"
    const { snapshot } = await this.call<{ snapshot: string }>("POST", "/v1/page-analytics/query", { query: sql })
    await this.call("POST", "/v1/page-analytics/reports", { name: "Visitors by variant", query: sql, snapshot })
  }

  async people(): Promise<void> {
    await this.call("POST", "/v1/leads", {
      email: "ada@example.com",
      name: "Ada Lovelace",
      phone: "+4930901820",
    })
    await this.call("POST", "/v1/leads", { email: "grace@example.com", name: "Grace Hopper" })
    await this.call("POST", "/v1/leads", { phone: "+4930901821" })
    for (const [email, kind, purpose] of [
      ["ada@example.com", "given", "marketing"],
      ["grace@example.com", "given", "marketing"],
      ["grace@example.com", "withdrawn", "marketing"],
    ]) {
      await this.call("POST", "/v1/consents", {
        email,
        kind,
        channel: "email",
        purpose,
        source: "form",
        wording: "Yes, send me news by mail.",
      })
    }
    await this.call("PUT", "/v1/consent-settings", { required_purposes: ["marketing"] })
    await this.call("POST", "/v1/suppressions", { address: "alan@example.com", note: "Asked for it by telephone." })
    await this.call("POST", "/v1/suppressions", { address: "bounced@example.com", note: "Mailbox is gone." })
  }

  async agents(): Promise<void> {
    await this.call("POST", "/v1/agents", { key: "writer", name: "Writer", protocol: "model", instructions: "You write copy." })
    await this.call("POST", "/v1/agents", {
      key: "front-desk",
      name: "Front desk",
      protocol: "model",
      instructions: "You answer at the front desk.",
    })
    const thread = await this.call("POST", "/v1/threads", { title: "Autumn launch" })
    for (const content of ["We begin on Monday.", "The partner agreed by telephone.\n\nNext: the copy."])
      await this.call("POST", `/v1/threads/${thread.id}/messages`, { content })
    const run = await this.call("POST", "/v1/agent-runs", {
      agent_key: "writer",
      thread_id: thread.id,
      input: "Write a headline for the autumn fair.",
    })
    await until(
      "an agent's answer",
      async () => (await this.call<{ state: string }>("GET", `/v1/agent-runs/${run.id}`)).state === "succeeded" || undefined,
    )
    await this.call("POST", "/v1/evals/suites", { name: "Answers of the front desk", agent_key: "front-desk", pass_threshold: 90 })
    for (const [name, input, expectation] of [
      ["Opening hours", "When are you open?", "Says Monday to Friday, 9 to 17."],
      ["Refunds", "Do I get my money back?", "Says within 30 days."],
    ])
      await this.call("POST", "/v1/evals/suites/answers-of-the-front-desk/cases", { name, input, expectation })
    await this.call("POST", "/v1/evals/suites/answers-of-the-front-desk/runs", { repeats: 1 })
  }

  async workstreams(): Promise<void> {
    await this.call("POST", "/v1/workstream-templates", {
      title: "Campaign launch",
      phases: [{ slug: "draft", title: "Draft" }],
      assignments: [{ slug: "copy", objective: "Write the copy.", phase_slug: "draft" }],
    })
    const assignments = [
      { slug: "copy", objective: "Write the copy for the page and the letter.", phase_slug: "draft", assigned_agent_key: "writer" },
      { slug: "pictures", objective: "Choose three pictures.", phase_slug: "draft" },
    ]
    const phases = [
      { slug: "draft", title: "Draft" },
      { slug: "review", title: "Review" },
      { slug: "launch", title: "Launch" },
    ]
    await this.call("POST", "/v1/workstream-templates", { title: "Autumn launch", token_budget_millicents: 500_000, phases, assignments })
    await this.call("POST", "/v1/workstreams", { title: "New price list" })
    await this.call("POST", "/v1/workstreams", { template: "autumn-launch" })
    const at = "/v1/workstreams/autumn-launch"
    await this.call("POST", `${at}/transitions`, { event: "start" })
    await this.call("POST", `${at}/phases/draft/transitions`, { event: "start" })
    await this.call("POST", `${at}/assignments/copy/transitions`, { event: "begin" })
    await this.call("POST", `${at}/assignments/copy/attempts`, {})
    await this.call("POST", `${at}/events`, { body: "The partner agreed by telephone." })
    await this.call("POST", `${at}/decisions`, { decision: "print", what: "Advertise in print.", why: "The audience reads it." })
    await this.call("POST", `${at}/decisions/print/transitions`, { event: "authorize", rationale: "Agreed." })
    await this.call("POST", `${at}/decisions`, {
      decision: "web",
      what: "Advertise on the web.",
      why: "It costs less.",
      supersedes_decision_slug: "print",
    })
    await this.call("POST", `${at}/follow`)
  }

  async knowledge(): Promise<void> {
    const refunds = await this.call("POST", "/v1/knowledge", {
      title: "Refunds",
      category: "policies",
      description: "What we pay back, and when.",
      content: "# Refunds\n\nWe refund within 30 days.",
    })
    await this.call("PATCH", `/v1/knowledge/${refunds.id}`, {
      content: "# Refunds\n\nWe refund within 14 days of delivery, to the account that paid.",
      expected_revision: 1,
    })
    for (const [title, category, content] of [
      ["Opening hours", "facts", "Monday to Friday, 9 to 17."],
      ["Tone of voice", "brand", "Short sentences. No exclamation marks."],
      ["Delivery", "policies", "We deliver within three days. Delivery is free above 50 euros."],
    ])
      await this.call("POST", "/v1/knowledge", { title, category, content })
  }

  async heartbeats(): Promise<void> {
    const count = await this.call("POST", "/v1/heartbeats", {
      name: "Count new leads",
      description: "How many came since yesterday.",
      kind: "script",
      interval_minutes: 60,
      script_js: "function script(input) { return { at: input.now } }",
      active_days: [1, 2, 3, 4, 5],
      timezone: "Europe/Berlin",
    })
    await this.call("POST", `/v1/heartbeats/${count.id}/run`)
    const broken = await this.call("POST", "/v1/heartbeats", {
      name: "Stale leads",
      kind: "script",
      interval_minutes: 1_440,
      script_js: "function script() { throw new Error('No rows.') }",
    })
    await this.call("POST", `/v1/heartbeats/${broken.id}/run`)
    await this.call("POST", "/v1/heartbeats", {
      name: "Weekly report",
      kind: "script",
      interval_minutes: 10_080,
      script_js: "function script() { return {} }",
    })
  }

  async delivery(): Promise<void> {
    await this.call("POST", "/v1/sending-domains", { domain: "example.com", from_local_part: "hello", from_name: "Ada at Example" })
    const crm = { base_url: "https://api.crm.example.com/v2", headers: { authorization: "Bearer crm-key" } }
    await this.call("POST", "/v1/integrations-connect", { app: "http", name: "CRM", credentials: crm, share_with_org: true })
    await this.call("PUT", "/v1/integration-oauth-clients/hubspot", { client_id: "0b1e5f0a", client_secret: "client-secret" })
    await this.call("POST", "/v1/integration-apps", {
      document: {
        slug: "acme-crm",
        name: "Acme CRM",
        summary: "Contacts of Acme.",
        docs_url: "https://docs.acme.example/api",
        base_url: "https://{region}.api.acme.example/v2",
        parameters: { region: "The account's region, such as eu." },
        auth: { basic: {} },
        test: { path: "/me" },
      },
    })
    await this.call("POST", "/v1/integrations-connect", {
      app: "twilio",
      credentials: { username: "AC00000000000000000000000000000000", password: "auth-token" },
      share_with_org: true,
    })
    await this.call("PUT", "/v1/voice/caller-name", {
      name: "Example Sales",
      phone_number: "+14155552671",
      integration: "twilio",
      email: "ada@example.com",
    })
  }

  async settings(): Promise<void> {
    await this.call("POST", "/v1/api-keys", { name: "Website" })
    await this.call("POST", "/v1/api-keys", { name: "Reports", kind: "token", scopes: ["datasets:read"] })
    await this.call("POST", "/v1/managed-organization-invitations", { role: "member", note: "Bakery" })
    const { organization } = this.#host
    await this.#host.get(UnitsOfWork).run((work) => {
      const organizations = this.#host.get(Organizations)
      const { id } = organizations.create(work, { name: "Bakery", slug: "bakery" })
      organizations.setManager(work, id, { id: organization.id, role: "admin" })
      const user = organizations.addUser(work, { email: "grace@example.com", name: "Grace Hopper" })
      organizations.addMember(work, organization.id, user.id, "member")
    })
  }

  async conversations(): Promise<void> {
    const { providers } = this.#servers
    await connect(this.#host, providers)
    const urls = await makePipelines(this.#host)
    const write = async (id: string, from: string, body: string) => {
      const message = { at: this.#host.clock.now() - 5_000, name: "Noor", body }
      expect((await postMeta(urls.meta, chatMessage(id, from, message))).status).to.equal(200)
    }
    await write("wamid.n1", "+4915110000003", "Are you open on Saturday?")
    await write("wamid.a1", "+4915110000001", "Is my order ready?")
  }
}
