// The screens of events in Chromium: search, filters and live updates, a paused list without losses, and one event with all its
// data.
import { expect } from "chai"
import { UnitsOfWork } from "#core"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"
import { untilProcess as until } from "../../waiting.ts"
import { consoleUnderTest } from "../console/browser.ts"

describe("the screens of events", () => {
  const testConsole = consoleUnderTest()
  const send = async (slug: string, payload: object) => {
    const { status, body } = await testConsole.host.api<{ execution_id: string }>("POST", `/v1/event-pipelines/${slug}/events`, { payload })
    expect(status, JSON.stringify(body)).to.equal(200)
    return body.execution_id
  }
  before(async () => {
    const transform_js =
      "function transform(event) { console.log('for', event.name); return { email: event.email.toLowerCase(), name: event.name, source: 'web' } }"
    const save = { id: "save", type: "dataset.write", dataset_slug: "people", key: "email", row: { email: "{{ event.email }}" } }
    for (const input of [
      { name: "People", transform_js, pipeline: [save] },
      { name: "Plain", pipeline: [] },
    ]) {
      const response = await testConsole.host.api("POST", "/v1/event-pipelines", { ...input, state: "active", source_kind: "internal" })
      expect(response.status, JSON.stringify(response.body)).to.equal(200)
    }
  })

  it("list events as they come, hold them without losing any, and filter by the address", async () => {
    const page = await testConsole.signedIn("/console/datasets")
    const frames: string[] = []
    page.on("websocket", (socket) => socket.on("framereceived", ({ payload }) => frames.push(String(payload))))
    await page.goto(`${testConsole.host.url}/console/events`)
    await page.getByText("Nothing came in yet.").waitFor()
    const table = page.getByRole("region", { name: "Events" })
    await until("the subscription", () => frames.some((frame) => frame.includes('"ok":true')))
    const first = await send("plain", { order: "A-1" })
    // Its broadcast during the pause would count as a new event.
    await until("word of a live event", () => frames.some((frame) => frame.includes(first)))
    await table.getByText("A-1").waitFor()
    await testConsole.tabTo(page, "Pause")
    await page.keyboard.press("Enter")
    await page.getByText("Paused; 0 came since.").waitFor()
    await send("plain", { order: "A-2" })
    await send("people", { email: "Ada@Example.com", name: "Ada" })
    await page.getByText("Paused; 2 came since.").waitFor()
    expect(await table.getByText("A-2").count()).to.equal(0)
    await testConsole.looksRight(page, "events-paused")
    await page.getByRole("button", { name: "Go on" }).press("Enter")
    await table.getByText("A-2").waitFor()
    await page.goto(`${testConsole.host.url}/console/events?pipeline=people&status=accepted&test=no`)
    await table.getByText("Ada@Example.com").waitFor()
    expect(await table.getByText("A-2").count()).to.equal(0)
    await testConsole.looksRight(page, "events")
    await page.goto(`${testConsole.host.url}/console/events?since=yesterday`)
    await page.getByRole("alert").getByText("since").waitFor()
  })

  it("find an event by a piece of it, and show what its transform changed, its times, its row, and its replay", async () => {
    await send("people", { email: "Grace@Example.com", name: "Grace", extra: 1 })
    const page = await testConsole.signedIn("/console/events")
    await page.getByLabel(/find by anything/).fill("Grace@Example.com")
    await page.keyboard.press("Enter")
    await page.getByText("1 event.").waitFor()
    await page.getByRole("region", { name: "Events" }).getByRole("link").press("Enter")
    await page.getByRole("heading", { name: "Event of people" }).waitFor()
    const input = page.getByRole("region", { name: "Input of the transform" })
    const output = page.getByRole("region", { name: "Output of the transform" })
    await output.locator("mark").getByText("grace@example.com").waitFor()
    expect(await output.locator("ins").allTextContents()).to.deep.equal(['  "source": "web"'])
    expect(await input.locator("del").allTextContents()).to.deep.equal(['  "extra": 1'])
    expect(await page.getByRole("region", { name: "Log" }).last().textContent()).to.equal("info: for Grace")
    await page.getByText("steps up to the reply").waitFor()
    expect(await page.getByRole("region", { name: "Rows" }).getByRole("link").count()).to.be.at.least(2)
    // All steps are settled, so it is not read again.
    await page.clock.install()
    await page.reload()
    await page.getByText("steps up to the reply").waitFor()
    const again: string[] = []
    page.on("request", (request) => void (/\/v1\/events\/[0-9a-f-]{36}$/.test(request.url()) && again.push(request.url())))
    await page.clock.runFor(20_000)
    await page.getByRole("button", { name: "Report", exact: true }).press("Enter")
    await page.getByRole("region", { name: "Report", exact: true }).waitFor()
    expect(again).to.deep.equal([])
    await page.locator("details.step summary").press("Enter")
    await page.getByRole("region", { name: "Result" }).getByText("row_id").waitFor()
    // The open step is part of the URL.
    await page.reload()
    await page.getByRole("region", { name: "Result" }).getByText("row_id").waitFor()
    await page.locator("details.step summary").press("Enter")
    await page.getByRole("region", { name: "Result" }).waitFor({ state: "hidden" })
    for (const [kind, holds] of [
      ["Test", "grace@example.com"],
      ["Report", "# Event"],
      ["Command", "curl -sS"],
    ] as const) {
      await page.getByRole("button", { name: kind, exact: true }).press("Enter")
      await page
        .getByRole("region", { name: kind === "Test" ? /\.test\.yaml$/ : kind, exact: true })
        .getByText(holds)
        .waitFor()
    }
    await testConsole.looksRight(page, "event")
    await page.getByRole("link", { name: "Dry run" }).press("Enter")
    await page.getByRole("textbox", { name: "Payload" }).getByText("grace@example.com").waitFor()
    await page.getByRole("button", { name: "Run" }).press("Enter")
    await page.getByRole("heading", { name: "What it would do" }).waitFor()
    await page.goBack()
    await page.getByRole("button", { name: "Replay" }).press("Enter")
    await page.getByRole("dialog").getByRole("button", { name: "Replay" }).press("Enter")
    await page.getByText("replay of").waitFor()
  })

  it("replay what a filter finds as a plan: grouped dry, held, gone on with, and linked both ways", async () => {
    const transform_js = "function transform(event) { return { email: event.email.toUpperCase(), name: event.name, source: 'web' } }"
    for (const n of [1, 2, 3]) await send("people", { email: `replayed${n}@example.com`, name: `<b>${n}` })
    expect(await testConsole.host.invoke("event_pipelines.update", { slug: "people", transform_js })).to.include({ slug: "people" })
    const page = await testConsole.signedIn("/console/events?pipeline=people&test=no")
    await testConsole.tabTo(page, "Replay these")
    await page.keyboard.press("Enter")
    await page.getByText("dry first, and then in earnest").waitFor()
    await testConsole.looksRight(page, "replay-plans-new")
    await page.getByRole("button", { name: "Create" }).press("Enter")
    await page.getByRole("heading", { name: "Replay of people" }).waitFor()
    await page.getByText("nothing was written or sent.").waitFor()
    await page
      .getByRole("region", { name: "Groups" })
      .getByText(/\d+ differ in email/)
      .waitFor()
    await page.getByText("rehearsed", { exact: true }).first().waitFor()
    await testConsole.looksRight(page, "replay-plan")
    await testConsole.tabTo(page, "Replay")
    await page.keyboard.press("Enter")
    await page.getByRole("dialog").getByRole("button", { name: "Replay" }).press("Enter")
    await page.getByText("completed", { exact: true }).waitFor()
    const first = page.getByRole("region", { name: "Events of the plan" }).getByRole("row").nth(1).getByRole("link")
    const [original, replay] = [await first.nth(0).textContent(), await first.nth(1).textContent()]
    await first.nth(1).press("Enter")
    await page.getByText("replay of").waitFor()
    await page.getByRole("link", { name: original ?? "" }).press("Enter")
    await page.getByRole("heading", { name: "Its replays and repeats" }).waitFor()
    const back = page.getByRole("region", { name: "Replays and repeats" }).getByRole("link").first()
    expect(await back.getAttribute("href")).to.equal(`/console/events/${replay}`)
    await page.goto(`${testConsole.host.url}/console/replay_plans`)
    await page.getByRole("region", { name: "Replay plans" }).getByText("completed").waitFor()
    await testConsole.looksRight(page, "replay-plans")
  })

  it("offer a guest and a member nothing that is denied, and another organization nothing at all", async () => {
    const id = await send("people", { email: "Private@Example.com", name: "Private" })
    const keyOf = async (role: string) =>
      (await testConsole.host.api<{ secret: string }>("POST", "/v1/api-keys", { name: role, role })).body.secret
    for (const [role, offered, hidden] of [
      ["guest", [], ["Command", "Test", "Report", "Replay", "Retry"]],
      ["member", ["Command", "Test", "Report", "Replay"], []],
    ] as const) {
      const page = await testConsole.signedIn(`/console/events/${id}`, { key: await keyOf(role) })
      const denied: string[] = []
      page.on("response", (answer) => void (answer.status() === 403 && denied.push(answer.url())))
      await page.reload()
      await page.getByRole("heading", { name: "Event of people" }).waitFor()
      for (const name of hidden) expect(await page.getByRole("button", { name, exact: true }).count(), `${role} ${name}`).to.equal(0)
      for (const name of offered) await page.getByRole("button", { name, exact: true }).press("Enter")
      if (offered.length > 0) await page.getByRole("dialog").getByRole("button", { name: "Replay" }).press("Enter")
      if (role === "member") await page.getByText("replay of").waitFor()
      else expect(await page.locator("main").textContent()).to.not.match(/private@/i)
      await page.goto(`${testConsole.host.url}/console/events?pipeline=people`)
      await page.getByRole("region", { name: "Events" }).getByRole("link").first().waitFor()
      expect(await page.getByRole("link", { name: "Replay these" }).count()).to.equal(role === "guest" ? 0 : 1)
      expect(denied, role).to.deep.equal([])
    }

    const { host } = testConsole
    const key = await host.get(UnitsOfWork).run((work) => {
      const other = host.get(Organizations).create(work, { name: "Other", slug: "other" })
      return host.get(ApiKeys).mint(work, other.id, { name: "Key", kind: "api_key", role: "admin", scopes: null, user: null }).text
    })
    const elsewhere = await testConsole.signedIn("/console/events", { key, mayFail: true })
    await elsewhere.getByText("Nothing came in yet.").waitFor()
    await send("people", { email: "Private2@Example.com", name: "Private" })
    for (const place of [`events/${id}`, "events?find=Private", "events?pipeline=people", "replay_plans"]) {
      await elsewhere.goto(`${host.url}/console/${place}`)
      await elsewhere.getByText(/does not exist|No event that is kept|A plan runs events/).waitFor()
      expect(await elsewhere.locator("main").textContent(), place).to.not.match(/private\d?@/i)
    }
  })
})
