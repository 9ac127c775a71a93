// Page events in the execution log: each entry agrees with its row and its answer.
import { expect } from "chai"
import { until } from "../../waiting.ts"
import { type Answer, desktopChrome, event, iphoneInstagram, Loop, type Published, someone } from "./loop.ts"

interface Entry {
  readonly id: string
  readonly envelope: Record<string, unknown>
  readonly response: { readonly status: number; readonly body: string } | null
}

const columns = [
  ...["artifact_id", "page_url", "variant", "session_id", "is_test"],
  ...["utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content", "click_id", "click_id_type"],
  ...["device_type", "browser", "in_app", "language", "country", "region", "city"],
]

describe("entries of page events", () => {
  let loop: Loop
  let page: Published
  let url: string
  let slug: string

  before(async () => {
    loop = await Loop.start({
      env: {
        MILLRACE_INBOUND_GEO: "cloudflare",
        MILLRACE_PLUGINS_SETTINGS: JSON.stringify({ "page-events": { address_per_minute: 12 } }),
      },
    })
    page = await loop.publish([
      { key: "a", html: "A" },
      { key: "b", html: "B" },
    ])
    const pipeline = await loop.pipeline(page)
    url = pipeline.inbound_url
    slug = pipeline.slug
  })
  after(() => loop.host.stop())

  const _envelope = {
    page_url: "https://acme.test/spring?email=x@y.z",
    variant: "b",
    utm_source: "letter",
    click_id: "c1",
    click_id_type: "gclid",
  }
  const entryOf = (id: unknown) =>
    loop.call<Entry & Record<string, unknown>>("GET", `/v1/event-pipelines/${slug}/executions/${id as string}`)
  const entriesOf = ({ body }: { body: Answer }) =>
    Promise.all((body.results ?? body.details?.results ?? []).map((result) => entryOf(result["execution_id"])))
  const columnsOf = (values: Record<string, unknown> | undefined) => Object.fromEntries(columns.map((name) => [name, values?.[name] ?? ""]))

  it("that were accepted say of page, visit and visitor what their rows say", async () => {
    const events = [event("pageview"), event("lead", { form: "contact" })]
    const headers = { "user-agent": iphoneInstagram, "accept-language": "pt-BR", "cf-ipcountry": "BR" }
    const entries = await entriesOf(await loop.send(url, page, { _envelope, is_test: true, events }, headers))
    for (const [index, view] of events.entries()) {
      const row = await loop.rowOf(view)
      expect(columnsOf(entries[index]?.envelope)).to.deep.equal(columnsOf(row))
      expect(columnsOf(row)).to.include({
        page_url: "https://acme.test/spring",
        variant: "b",
        in_app: "instagram",
        country: "BR",
        is_test: true,
      })
      const { id, response } = entries[index] ?? {}
      expect(response?.status).to.equal(200)
      expect(JSON.parse(response?.body ?? "")).to.deep.equal({ event_id: view.event_id, status: "accepted", execution_id: id })
      expect(entries[index]?.envelope).to.include({ event_id: view.event_id, event_type: view.event, session_id: row?.["session_id"] })
    }
  })

  it("that are run again say the same", async () => {
    const view = event("pageview")
    const response = await loop.send(url, page, { _envelope, events: [view] }, someone())
    const { execution_id } = await loop.call<{ execution_id: string }>(
      "POST",
      `/v1/event-pipelines/${slug}/executions/${response.body.results[0]?.["execution_id"]}/replay`,
      {},
    )
    expect(columnsOf((await entryOf(execution_id)).envelope)).to.deep.equal(columnsOf(await loop.rowOf(view)))
  })

  it("that were rejected beside good ones say so, with the visit that they were part of", async () => {
    const view = event("pageview")
    const response = await loop.send(url, page, { _envelope, events: [view, event("nope")] }, someone())
    const [good, bad] = await entriesOf(response)
    expect(columnsOf(bad?.envelope)).to.deep.equal(columnsOf(good?.envelope))
    const { execution_id: _, ...result } = response.body.results[1] ?? {}
    expect(bad?.response?.status).to.equal(200)
    expect(JSON.parse(bad?.response?.body ?? "")).to.deep.equal(result)
  })

  it("that were all rejected hold the status that was answered, and what the request alone tells of the visit", async () => {
    const message = await loop.send(url, page, { _envelope, events: [event("nope"), event("rage_click")] }, someone())
    expect(message.status).to.equal(400)
    const entries = await entriesOf(message)
    for (const [index, { response, envelope }] of entries.entries()) {
      const { execution_id: _, ...result } = message.body.details?.results?.[index] ?? {}
      expect(response?.status).to.equal(400)
      expect(JSON.parse(response?.body ?? "")).to.deep.equal(result)
      expect(envelope).to.include({ artifact_id: page.id, page_url: "https://acme.test/spring", device_type: "desktop", browser: "chrome" })
      expect(envelope).not.to.have.any.keys("session_id", "variant")
    }
  })

  it("of bots and of requests beyond the limit hold 403 and 429", async () => {
    const entryFor = async (cause: string) => {
      const entry = await until(async () => (await loop.executions(slug)).find((execution) => execution["cause"] === cause))
      return entryOf(entry["id"])
    }
    expect((await loop.send(url, page, event("pageview"), { "user-agent": `${desktopChrome} Googlebot/2.1` })).status).to.equal(403)
    const bot = await entryFor("bot")
    expect(bot.response?.status).to.equal(403)
    expect(bot.envelope).to.include({ artifact_id: page.id, device_type: "desktop" })
    await until(async () => (await loop.send(url, page, event("pageview"), someone())).status === 429)
    const limited = await entryFor("rate_limited")
    expect(limited.response?.status).to.equal(429)
    expect(limited.response?.body).to.include("resource_exhausted")
  })
})
