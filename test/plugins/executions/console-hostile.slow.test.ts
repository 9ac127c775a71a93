// A large event with hostile text in every field, in Chromium: shown as plain text on every screen of events, and invisible to
// another organization.
import { expect } from "chai"
import type { Page } from "playwright-core"
import { UnitsOfWork } from "#core"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"
import { untilProcess as until } from "../../waiting.ts"
import { consoleUnderTest } from "../console/browser.ts"

const mark = "evil-mark"
const hostile = `<img src=x onerror="document.title='hit'"><script>document.title='hit'</script>\u202E${mark}`
const header = `<img src=x onerror="document.title='hit'">`

describe("a hostile event in the console", () => {
  const testConsole = consoleUnderTest()
  let id = ""
  before(async () => {
    const row = { email: "{{ event.email }}", text: "{{ event.list[0] }}" }
    const save = { id: "save", type: "dataset.write", dataset_slug: "strangers", key: "email", row }
    const transform_js = "function transform(event) { console.log(event.email); return event }"
    const input = { name: "Open", state: "active", auth_mode: "none", transform_js, pipeline: [save] }
    const { inbound_url } = await testConsole.host.invoke<{ inbound_url: string }>("event_pipelines.create", input)
    const event = { [hostile]: hostile, email: hostile, list: [hostile], text: "x".repeat(1_000_000) }
    const url = `${inbound_url}?q=${encodeURIComponent(hostile)}`
    const answer = await testConsole.host.send<{ execution_id: string }>({ inbound_url: url }, event, { headers: { "x-source": header } })
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    id = answer.body.execution_id
  })

  const isInert = async (page: Page, place: string) => {
    expect(await page.locator('main img[src="x"]').count(), place).to.equal(0)
    expect(await page.locator("main script").count(), place).to.equal(0)
    expect(await page.title(), place).to.not.equal("hit")
    expect(await page.locator("main").textContent(), place).to.not.include("\u202E")
  }

  it("is shown as what it is on its own page, with all that can be copied from there", async () => {
    const page = await testConsole.signedIn(`/console/events/${id}`)
    await page.getByRole("heading", { name: "Event of open" }).waitFor()
    await page.getByText("Headers").press("Enter")
    await page.getByText(header, { exact: true }).waitFor()
    await page.getByRole("region", { name: "Log" }).getByText("info: <img src=x").waitFor()
    for (const kind of ["Command", "Test", "Report"]) {
      await page.getByRole("button", { name: kind, exact: true }).press("Enter")
      await page
        .getByRole("region", { name: kind === "Test" ? /test\.yaml$/ : kind, exact: true })
        .getByText("onerror")
        .waitFor()
    }
    await page.getByRole("region", { name: "Payload" }).getByText(`\\u202e${mark}`).waitFor()
    await isInert(page, "its page")
    await testConsole.looksRight(page, "event-hostile")
    const unknown = await testConsole.signedIn("/console/events/00000000-0000-4000-8000-000000000000", { mayFail: true })
    await unknown.getByText("is no longer kept.").waitFor()
  })

  it("is shown as what it is in lists, in what is found, in plans, in tests of its pipeline, in its drift and in its row", async () => {
    const plan = await testConsole.host.invoke<{ id: string }>("replay_plans.create", { pipeline: "open" })
    await until("the rehearsal", async () => {
      const { state } = await testConsole.host.invoke<{ state: string }>("replay_plans.get", { id: plan.id })
      return state === "rehearsed" || undefined
    })
    const { rows } = await testConsole.host.invoke<{ rows: { id: string }[] }>("datasets.list_rows", { slug: "strangers" })
    const page = await testConsole.signedIn("/console")
    for (const [place, text] of [
      ["events", "onerror"],
      ["events?pipeline=open&status=accepted", "onerror"],
      [`events?find=${mark}`, "1 event"],
      [`events?find=${encodeURIComponent(hostile)}`, "1 event"],
      [`replay_plans/${plan.id}`, "Its events"],
      ["event_pipelines/open?view=drift", "events since the comparison"],
      ["event_pipelines/open?view=graph", "save"],
      ["datasets/strangers", "onerror"],
      [`datasets/strangers?row=${rows[0]?.id}`, "Where it came from"],
      ["", "Events a minute"],
    ] as const) {
      await page.goto(`${testConsole.host.url}/console/${place}`)
      await page.locator("main").getByText(text).first().waitFor()
      await isInert(page, place)
    }
    await page.goto(`${testConsole.host.url}/console/event_pipelines/open?view=test&event=${id}`)
    await page.locator(".cm-content").getByText("onerror").first().waitFor()
    expect(await page.locator(".cm-content").textContent()).to.not.include("\u202E")
    await page.getByRole("button", { name: "Run", exact: true }).press("Enter")
    await page.getByRole("region", { name: "Outcome" }).waitFor()
    await isInert(page, "a test's outcome")
  })

  it("is nowhere to be seen for another organization", async () => {
    const { host } = testConsole
    const key = await host.get(UnitsOfWork).run((work) => {
      const other = host.get(Organizations).create(work, { name: "Other", slug: "other" })
      return host.get(ApiKeys).mint(work, other.id, { name: "Key", kind: "api_key", role: "admin", scopes: null, user: null }).text
    })
    const page = await testConsole.signedIn("/console/events", { key, mayFail: true })
    for (const place of [
      "events",
      `events?find=${mark.replaceAll("-", " ")}`,
      "events?pipeline=open",
      `events/${id}`,
      "replay_plans",
      "event_pipelines",
      "event_pipelines/open?view=test",
      "datasets/strangers",
      "",
    ]) {
      await page.goto(`${host.url}/console/${place}`)
      await page
        .locator("main")
        .getByText(
          /does not exist|has no dataset|No event that is kept|A plan runs events|came in yet|none yet|No event came|no longer kept/,
        )
        .first()
        .waitFor()
      expect(await page.locator("main").textContent(), place).to.not.include(mark)
    }
  })
})
