// Work of many areas loses against a faster commit. The service repeats the work without losing a change or repeating an effect.
import { createHmac } from "node:crypto"
import { expect } from "chai"
import { Store, UnitsOfWork } from "#core"
import type { Write } from "../../core/contract/store.ts"
import { Integrations } from "../../plugins/agents/integrations/index.ts"
import { Models } from "../../plugins/agents/models/index.ts"
import { onStoresInTurn } from "../pipeline/stores.ts"
import { failureOf } from "../refusal.ts"
import { rivalOf } from "../rival-commits.ts"
import { until } from "../waiting.ts"
import { collectionNamed } from "./collection-named.ts"
import { allowedCalls, type ConflictService, sets, startConflictService } from "./conflict-service.ts"
import { chatMessage, conversationOf, messagesOf, own, postMeta } from "./conversations/webhooks.ts"
import { Browser } from "./integrations/oauth/browser.ts"
import { json } from "./integrations/oauth/vendor-server.ts"
import { returnUrl, vendorDocument } from "./integrations/oauth/vendor-service.ts"
import { eightCalls } from "./voice/trust-hub.ts"
import { Desk } from "./voice/voice-bench.ts"

onStoresInTurn("work that meets a faster commit", ({ start }) => {
  let service: ConflictService
  before(async () => {
    service = await startConflictService(start)
  })
  after(() => service.close())

  const connected = (input: object) =>
    service.api<{ integration_id: string; connect_url: string }>("POST", "/v1/integrations-connect", input)
  const call = (ref: string) => service.host.get(Integrations).call(service.host.organization.id, ref, { method: "GET", path: "/contacts" })

  it("sees a lead again that another node changes at the same time", async () => {
    const { api, second } = service
    const add = (phone: string) => api("POST", "/v1/datasets/people/rows", { rows: [{ email: "ada@example.com", phone, name: "Ada" }] })
    await api("POST", "/v1/datasets", { name: "People", slug: "people" })
    const leads = async () => (await api<{ leads: { phones: string[] }[] }>("GET", "/v1/leads?email=ada%40example.com")).leads
    await add("+4930901820")
    await until("the lead", async () => (await leads())[0])
    await second("leads", 3, async () => {
      await add("+4930901821")
      await until("both numbers", async () => (await leads())[0]?.phones.length === 2)
    })
  })

  describe("conversations", () => {
    const person = "+4915111111111"
    const counted = (count: number) =>
      until(`${count} messages`, async () => {
        const conversation = await conversationOf(service.host, "chatapp", person)
        return conversation?.message_count === count ? conversation : undefined
      })
    const write = async (id: string) => {
      const { status } = await postMeta(service.urls.meta, chatMessage(id, person, { at: service.host.clock.now(), body: "Hi" }))
      expect(status).to.equal(200)
    }

    it("counts every message once", async () => {
      await write("wamid.1")
      await counted(1)
      await service.second("chatapp_conversations", 3, async () => {
        await write("wamid.2")
        await counted(2)
      })
    })

    it("keeps the last reported state", async () => {
      const { api, second, providers, urls, host } = service
      await api("POST", "/v1/voice/messages", { channel: "chat_app", from: own, to: person, text: "Hello" })
      const newest = (state: string) =>
        until(`the message in state ${state}`, async () => (await messagesOf(host, "chatapp", person))[0]?.state === state)
      await newest("accepted")
      const messages = collectionNamed(host, "chatapp_messages")
      // Another node settles an earlier report.
      const faster = () =>
        host.get(UnitsOfWork).run(async (work) => {
          const match = await host.get(Store).open(messages, host.organization.id).first({ direction: "out" })
          work.in(messages, host.organization.id).update(match?.id ?? "", { $set: { state: "sent" } })
        })
      await second(
        "chatapp_messages",
        1,
        async () => {
          const status = { id: providers.sent.at(-1)?.provider_id, status: "delivered", timestamp: "1", recipient_id: person.slice(1) }
          await postMeta(urls.meta, { statuses: [status] })
          await newest("delivered")
        },
        { only: sets("state", "delivered"), faster },
      )
    })

    it("stops after two tries if the conversation is removed meanwhile", async () => {
      const { host } = service
      const id = (await conversationOf(host, "chatapp", person))?.session_id ?? ""
      const remove = () => host.api("DELETE", `/v1/voice/chatapp-conversations/${id}`)
      let tries = 0
      const only = (write: Write) => write.kind === "update" && write.update.$set?.["told_in"] !== undefined && ++tries > 0
      const rival = rivalOf(host, "chatapp_conversations", 1, { only, faster: remove })
      await write("wamid.3")
      await until("the job having ended", async () => {
        if (rival.met === 0) return false
        const { jobs } = await service.api<{ jobs: { type: string }[] }>("GET", "/v1/jobs?state=queued&limit=200")
        return jobs.every(({ type }) => type !== "conversations.fold")
      })
      rival.stop()
      expect(tries).to.equal(2)
    })
  })

  describe("integrations", () => {
    const granting = async (input: object) => {
      const started = await connected({ app: "granted", name: "Granted", share_with_org: true, return_url: returnUrl, ...input })
      const browser = new Browser()
      const { url } = await browser.open(started.connect_url, (next) =>
        next.startsWith(`${service.host.url}/v1/integrations/oauth/callback`),
      )
      const land = async () => {
        const view = await browser.open(url, (next) => next.startsWith(returnUrl))
        expect(new URL(view.url).searchParams.get("status")).to.equal("connected")
      }
      return { id: started.integration_id, land }
    }
    const revoked = () => service.vendor.at("/revoke").map(({ form }) => form.get("token") ?? "")
    const tokenOf = async (id: string) => {
      expect((await call(id)).status).to.equal(200)
      return service.vendor.at("/v3/contacts").at(-1)?.authorization.replace("Bearer ", "") ?? ""
    }

    it("keeps one of two grants, and revokes the others once", async () => {
      const first = await granting({})
      await service.second("integration_oauth_grants", 1, first.land)
      const old = await tokenOf(first.id)
      const [item, second] = [await granting({ rotate_credentials: true }), await granting({ rotate_credentials: true })]
      let between = ""
      const faster = async () => {
        await second.land()
        between = await tokenOf(first.id)
      }
      await service.second("integration_oauth_grants", 1, item.land, { faster })
      await until("the tokens of two grants being revoked", () => revoked().length >= 4)
      expect(revoked()).to.have.length(4).and.to.include.members([old, between])
      expect(revoked()).not.to.include(await tokenOf(first.id))
    })

    it("connects by a broker, and keeps a new name", async () => {
      const { api, second, broker } = service
      const started = await connected({ app: "brokered", name: "Brokered", share_with_org: true, return_url: returnUrl })
      const page = await (await fetch(started.connect_url)).text()
      const link = (id: string) => new RegExp(`<a id="${id}"[^>]* href="([^"]+)"`).exec(page)?.[1] ?? ""
      broker.grant(link("continue"))
      const path = `/v1/integrations/${started.integration_id}`
      const faster = () => api("PATCH", path, { name: "Renamed" })
      const { status } = await second("integrations", 1, () => fetch(link("done"), { redirect: "manual" }), { faster })
      expect([status, broker.connections.size]).to.deep.equal([303, 1])
      expect(await api("GET", path)).to.include({ status: "connected", name: "Renamed" })
      expect((await call(started.integration_id)).status).to.equal(200)
    })

    it("counts each call once, and none beyond the limit", async () => {
      const credentials = { api_key: "K-1" }
      const { integration_id: id } = await connected({ app: "limited", name: "Limited", credentials, share_with_org: true })
      expect((await call(id)).status).to.equal(200)
      const before = service.vendor.at("/v3/contacts").length
      await service.second("integration_call_counts", 3, () => call(id))
      expect((await call(id)).status).to.equal(200)
      expect((await failureOf(call(id))).details).to.include({ reason: "app_rate_limited" })
      expect(service.vendor.at("/v3/contacts").length - before).to.equal(allowedCalls - 1)
    })

    it("keeps the requested pause of a vendor", async () => {
      const credentials = { api_key: "K-2" }
      const { integration_id: id } = await connected({ app: "limited", name: "Paused", credentials, share_with_org: true })
      service.vendor.on.set("/v3/contacts", (_, response) => json(response.setHeader("retry-after", "60"), 429, {}))
      const only = (write: object) => !JSON.stringify(write).includes('"asked_until":null')
      const { status } = await service.second("integration_call_counts", 3, () => call(id), { only })
      service.vendor.on.clear()
      expect(status).to.equal(429)
      expect((await failureOf(call(id))).details).to.include({ reason: "app_asked_to_wait" })
    })

    it("connects an app of the organization for several people at one moment", async () => {
      const auth = { api_key: { authorise: { in: "header", name: "X-Api-Key" } } }
      const document = { ...vendorDocument("own", service.vendor.origin), auth }
      await service.api("POST", "/v1/integration-apps", { document })
      const connectOwn = (_: unknown, n: number) => connected({ app: "own", name: `Own ${n}`, credentials: { api_key: `K-${n}` } })
      const created = await Promise.all(Array.from({ length: 8 }, connectOwn))
      expect(new Set(created.map(({ integration_id }) => integration_id)).size).to.equal(8)
      await service.second("integration_apps", 1, () => connected({ app: "own", name: "Own 9", credentials: { api_key: "K-9" } }), {
        faster: () => connected({ app: "own", name: "Own 10", credentials: { api_key: "K-10" } }),
      })
    })
  })

  it("registers a caller name by one call of each step", async () => {
    const { host, hub } = service
    const desk = await Desk.open(host, "acme")
    await desk.connect()
    let writes = 0
    const only = () => writes++ % 2 === 0
    const filed = await desk.filed()
    await service.second(
      "caller_name_registrations",
      eightCalls.length,
      async () => {
        expect((await desk.decide(filed.approval_request_id, "approve")).status).to.equal(200)
        await desk.when("the submission", ({ status }) => status === "submitted")
      },
      { only },
    )
    expect(hub.acted).to.deep.equal(eightCalls)
    const { body } = await desk.api<{ state: string }>("GET", `/v1/approvals/${filed.approval_request_id}`)
    expect(body.state).to.equal("done")
  })

  it("pays once for a call of a model", async () => {
    const { api, host, models, second } = service
    const question = (input: string) => ({ purpose: "agent" as const, prompt: { name: "writer", version: 1, text: "Write." }, input })
    const ask = (input: string) => host.get(Models).text(host.organization.id, { ...question(input), maxOutputTokens: 100 })
    const paid = async () => (await api<{ days: { millicents: number; calls: number }[] }>("GET", "/v1/models")).days[0]
    await ask("One")
    const before = await paid()
    await second("model_held_calls", 3, () => ask("Two"))
    const after = await paid()
    expect([models.asked.length, after?.calls]).to.deep.equal([2, 2])
    expect(after?.millicents).to.be.closeTo(2 * (before?.millicents ?? 0), 0.001)
  })

  it("keeps the result of a heartbeat after a person changes its times", async () => {
    const { api, second } = service
    type Heartbeat = { id: string; latest_status: string; interval_minutes: number; failures: number; next_run_at: string }
    const script_js = "function script(input) { return { count: ((input.previous || { count: 0 }).count) + 1 } }"
    const created = await api<Heartbeat>("POST", "/v1/heartbeats", { name: "Count", kind: "script", interval_minutes: 60, script_js })
    const path = `/v1/heartbeats/${created.id}`
    const faster = () => api("PATCH", path, { interval_minutes: 30 })
    const act = async () => {
      await api("POST", `${path}/run`)
      return await until("the run having ended", async () => {
        const heartbeat = await api<Heartbeat>("GET", path)
        return heartbeat.latest_status === "succeeded" && heartbeat
      })
    }
    const after = await second("heartbeats", 1, act, { only: sets("latest_status", "succeeded"), faster })
    expect(after).to.include({ interval_minutes: 30, failures: 0 })
    expect(Date.parse(after.next_run_at)).to.be.below(Date.parse(created.next_run_at))
    const { runs } = await api<{ runs: { status: string; result: object }[] }>("GET", `${path}/runs`)
    expect(runs.map(({ status, result }) => [status, result])).to.deep.equal([["succeeded", { count: 1 }]])
  })

  describe("agent runs", () => {
    type Run = { id: string; state: string; thread_id: string; cost_millicents: number }
    let secret: string
    before(async () => {
      const { api, agent } = service
      await connected({ app: "http", name: "Agents", credentials: { base_url: agent.url }, share_with_org: true })
      const worker = { key: "worker", name: "Worker", protocol: "webhook", integration: "agents", path: "/work" }
      secret = (await api<{ secret: string }>("POST", "/v1/agents", worker)).secret
    })
    beforeEach(() => service.agent.forget())

    const start = (input: string) => service.api<Run>("POST", "/v1/agent-runs", { agent_key: "worker", input })
    const reaching = ({ id }: Run, state: string) =>
      until(`the run being ${state}`, async () => {
        const run = await service.api<Run>("GET", `/v1/agent-runs/${id}`)
        return run.state === state ? run : undefined
      })
    const recordOf = async ({ id, thread_id }: Run) => {
      const { steps } = await service.api<{ steps: { kind: string }[] }>("GET", `/v1/agent-runs/${id}/steps`)
      const { messages } = await service.api<{ messages: { role: string }[] }>("GET", `/v1/threads/${thread_id}/messages`)
      return [steps.map(({ kind }) => kind), messages.map(({ role }) => role)]
    }

    it("asks the agent once, and records the answer and its cost once", async () => {
      service.agent.answer(() => ({ body: { output: "Done.", cost_millicents: 12 } }))
      const run = await service.second("agent_runs", 6, async () => reaching(await start("A page"), "succeeded"), {
        only: (write) => write.kind === "update",
      })
      expect([service.agent.asked.length, run.cost_millicents]).to.deep.equal([1, 12])
      expect(await recordOf(run)).to.deep.equal([
        ["succeeded", "asked", "queued"],
        ["agent", "user"],
      ])
    })

    it("takes the answer of a callback", async () => {
      service.agent.answer(() => ({ status: 202 }))
      const run = await reaching(await start("A page"), "waiting")
      const body = JSON.stringify({ output: "Done." })
      const time = String(Math.floor(service.host.clock.now() / 1_000))
      const signature = `sha256=${createHmac("sha256", secret).update(`${time}.${body}`).digest("hex")}`
      const headers = { "content-type": "application/json", "x-signature-timestamp": time, "x-signature-256": signature }
      const url = String(service.agent.asked.at(-1)?.body["callback_url"])
      const { status } = await service.second("agent_runs", 3, () => fetch(url, { method: "POST", body, headers }))
      expect(status).to.equal(200)
      expect(await recordOf(await reaching(run, "succeeded"))).to.deep.equal([
        ["succeeded", "handed_over", "asked", "queued"],
        ["agent", "user"],
      ])
    })
  })

  describe("delivered secrets", () => {
    const make = async (name: string) => {
      const auth = { auth_mode: "provider_signature", auth_config: { provider: "asana" } }
      return (await service.api<{ inbound_url: string }>("POST", "/v1/event-pipelines", { name, state: "active", ...auth })).inbound_url
    }
    const shake = (url: string, secret: string) => fetch(url, { method: "POST", headers: { "x-hook-secret": secret } })
    const send = async (url: string, secret: string) => {
      const body = JSON.stringify({ events: [{ n: 1 }] })
      const headers = { "content-type": "application/json", "x-hook-signature": createHmac("sha256", secret).update(body).digest("hex") }
      return (await fetch(url, { method: "POST", body, headers })).status
    }

    it("keeps a secret while the pipeline changes", async () => {
      const url = await make("Changed")
      const { status } = await service.second("event_pipelines", 3, () => shake(url, "first-secret-0123456789"))
      expect([status, await send(url, "first-secret-0123456789")]).to.deep.equal([200, 200])
    })

    it("refuses a secret if another secret was kept first", async () => {
      const url = await make("Taken")
      const faster = () => shake(url, "faster-secret-0123456789")
      const answer = await service.second("event_pipelines", 1, () => shake(url, "slower-secret-0123456789"), { faster })
      expect([answer.status, answer.headers.get("x-hook-secret")]).to.deep.equal([409, null])
      expect([await send(url, "faster-secret-0123456789"), await send(url, "slower-secret-0123456789")]).to.deep.equal([200, 401])
    })

    it("accepts a secret again", async () => {
      const url = await make("Repeated")
      const faster = () => shake(url, "repeated-secret-0123456789")
      const { status } = await service.second("event_pipelines", 1, () => shake(url, "repeated-secret-0123456789"), { faster })
      expect([status, await send(url, "repeated-secret-0123456789")]).to.deep.equal([200, 200])
    })
  })

  describe("counts beside events", () => {
    const request_schema = { type: "object", additionalProperties: false, properties: { total: { type: "integer" } } }
    type Made = { inbound_url: string; slug: string; id: string; secret: string }
    const make = (name: string) =>
      service.api<Made>("POST", "/v1/event-pipelines", { name, state: "active", auth_mode: "hmac_sha256", request_schema })
    const send = async ({ inbound_url, secret }: Made, event: object) =>
      (await service.host.send({ inbound_url }, event, { secret })).status

    it("counts each event once for its minute, its schema and its secret", async () => {
      const { api, second } = service
      const pipeline = await make("Counted")
      const path = `/v1/event-pipelines/${pipeline.slug}`
      const minutes = async () => {
        const { minutes: all } = await api<{ minutes: { accepted: number }[] }>("GET", "/v1/event-activity")
        return all.reduce((sum, { accepted }) => sum + accepted, 0)
      }
      const sketched = async () => (await api<{ events: number }>("GET", `${path}/drift`)).events
      const verified = async () =>
        (await api<{ secrets: { verified_events: number }[] }>("GET", `${path}/secrets`)).secrets[0]?.verified_events
      const all = [
        ["event_minutes", minutes],
        ["event_schema_sketches", sketched],
        ["event_pipeline_secret_uses", verified],
      ] as const
      expect(await send(pipeline, { total: 1 })).to.equal(200)
      for (const [collection, read] of all) {
        const before = (await read()) ?? 0
        // The service writes the count on a read, or earlier by its timer.
        const after = await second(collection, 3, async () => {
          expect(await send(pipeline, { total: 2 })).to.equal(200)
          return await read()
        })
        expect(after, collection).to.equal(before + 1)
      }
    })

    it("reports no drift from a replaced schema", async () => {
      const { host, api, second } = service
      const pipeline = await make("Replaced")
      expect(await send(pipeline, { total: 1 })).to.equal(200)
      await api("GET", `/v1/event-pipelines/${pipeline.slug}/drift`)
      const faster = () =>
        host.get(UnitsOfWork).run((work) => {
          const replaced = { $set: { digest: "newer", revision: 9 }, $inc: { version: 1 } }
          work.in(collectionNamed(host, "event_schema_sketches"), host.organization.id).update(pipeline.id, replaced)
        })
      const act = async () => {
        expect(await send(pipeline, { coupon: "x" })).to.equal(400)
        await api("GET", `/v1/event-pipelines/${pipeline.slug}/drift`)
      }
      await second("event_schema_sketches", 1, act, { faster })
      expect((await host.broadcasts("schema_drift")).filter(({ data }) => JSON.stringify(data).includes(pipeline.id))).to.deep.equal([])
    })
  })
})
