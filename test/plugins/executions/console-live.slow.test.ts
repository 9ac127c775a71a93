// The live list of events in Chromium. Only events of its filter reach the browser. None is lost or shown twice while the service
// restarts or is unreachable, and requests without an answer take effect once.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import type { Page, WebSocketRoute } from "playwright-core"
import { untilProcess as until } from "../../waiting.ts"
import { consoleUnderTest } from "../console/browser.ts"

const keepMessages = 10

describe("the list of events as they come", () => {
  const dataDir = mkdtempSync(join(tmpdir(), "millrace-events-"))
  const testConsole = consoleUnderTest({ dataDir, env: { MILLRACE_LIVE_KEEP_MESSAGES: String(keepMessages) } })
  after(() => rmSync(dataDir, { recursive: true }))
  before(async () => {
    for (const name of ["Orders", "Others"]) {
      const input = { name, state: "active", source_kind: "internal", pipeline: [] }
      expect((await testConsole.host.api("POST", "/v1/event-pipelines", input)).status).to.equal(200)
    }
  })

  const send = async (order: string, slug = "orders") => {
    const payload = { order }
    const { status, body } = await testConsole.host.api<{ execution_id: string }>("POST", `/v1/event-pipelines/${slug}/events`, { payload })
    expect(status, JSON.stringify(body)).to.equal(200)
    return body.execution_id
  }
  const table = (page: Page) => page.getByRole("region", { name: "Events" })
  const timesShown = (page: Page, orders: readonly string[]) =>
    Promise.all(orders.map((order) => table(page).getByText(`"${order}"`).count()))
  /** Navigates from a place without the list to the listening list. Returns the times of its reads. */
  async function listening(page: Page, place: string): Promise<readonly string[]> {
    const [reads, answered]: [string[], string[]] = [[], []]
    const note = (into: string[], url: string) => void (/\/v1\/events\?/.test(url) && into.push(url))
    page.on("request", (request) => note(reads, request.url()))
    page.on("requestfinished", (request) => note(answered, request.url()))
    await page.goto(`${testConsole.host.url}/console/${place}`)
    await until("the list having been read again with its subscription", () => answered.length >= 2)
    return reads
  }
  /** Cuts the browser off like a broken network: open connections close, and new ones fail. */
  async function cutOff(page: Page) {
    const open = new Set<WebSocketRoute>()
    let isAway = false
    await page.routeWebSocket(/./, (route) => {
      if (isAway) return void route.close()
      open.add(route)
      route.connectToServer()
    })
    await page.route("**", (route) => (isAway ? route.abort("internetdisconnected") : route.continue()))
    return {
      async away() {
        isAway = true
        await Promise.all([...open].map((route) => route.close()))
        open.clear()
      },
      back() {
        isAway = false
      },
    }
  }

  it("sends the browser those of the filter alone, and reads the list for no other", async () => {
    const page = await testConsole.signedIn("/console/datasets")
    const frames: string[] = []
    page.on("websocket", (socket) => socket.on("framereceived", ({ payload }) => frames.push(String(payload))))
    const reads = await listening(page, "events?pipeline=orders&status=accepted")
    expect(frames.join("\n")).to.include('"ok":true')
    const unwanted: string[] = []
    for (let n = 0; n < 5; n++) unwanted.push(await send(`O-${n}`, "others"))
    const expected = await send("F-1")
    await table(page).getByText('"F-1"').waitFor()
    expect(reads, "of the page, of the subscription and of the event").to.have.length(3)
    expect(frames.filter((frame) => frame.includes(expected))).to.have.length(1)
    for (const id of unwanted) expect(frames.join("\n")).to.not.include(id)
  })

  it("says that the service is away, goes on by itself, and shows each event once that came meanwhile", async () => {
    const page = await testConsole.signedIn("/console/events?pipeline=orders", { mayFail: true })
    await page.getByText("Live: events appear as they come.").waitFor()
    await send("B-1")
    await table(page).getByText('"B-1"').waitFor()
    await testConsole.stopService()
    await page.getByRole("alert").getByText("Connection lost, trying again").waitFor()
    expect(await timesShown(page, ["B-1"]), "while it is away").to.deep.equal([1])
    await testConsole.startService()
    await send("B-2")
    await send("B-other", "others")
    await table(page).getByText('"B-2"').waitFor()
    await page.getByText("Connection lost").waitFor({ state: "detached" })
    await send("B-3")
    await table(page).getByText('"B-3"').waitFor()
    expect(await timesShown(page, ["B-1", "B-2", "B-3", "B-other"])).to.deep.equal([1, 1, 1, 0])
  })

  it("counts while it is paused what came, also through a restart and a lost network, and shows all of it then", async () => {
    const page = await testConsole.signedIn("/console/datasets", { mayFail: true })
    const network = await cutOff(page)
    const reads = await listening(page, "events?pipeline=orders")
    await send("C-0")
    // Its broadcast during the pause would be counted.
    await until("the list being read for it", () => reads.length >= 3)
    await table(page).getByText('"C-0"').waitFor()
    await page.getByRole("button", { name: "Pause" }).press("Enter")
    await send("C-1")
    await page.getByText("Paused; 1 came since.").waitFor()
    await testConsole.stopService()
    await page.getByRole("alert").getByText("Connection lost, trying again").waitFor()
    await testConsole.startService()
    await send("C-2")
    await send("C-other", "others")
    await page.getByText("Paused; 2 came since.").waitFor()
    await network.away()
    await page.getByRole("alert").getByText("Connection lost, trying again").waitFor()
    await send("C-3")
    await send("C-4")
    network.back()
    await page.getByText("Paused; 4 came since.").waitFor()
    expect(await timesShown(page, ["C-0", "C-1", "C-2", "C-3", "C-4"]), "while it is paused").to.deep.equal([1, 0, 0, 0, 0])
    await network.away()
    await page.getByRole("alert").getByText("Connection lost, trying again").waitFor()
    const many = Array.from({ length: keepMessages + 5 }, (_, n) => `C-${n + 5}`)
    for (const order of many) await send(order)
    network.back()
    await page.getByText(/Paused; \d+ or more came since\./).waitFor()
    await page.getByRole("button", { name: "Go on" }).press("Enter")
    await table(page)
      .getByText(`"${many.at(-1)}"`)
      .waitFor()
    const all = ["C-0", "C-1", "C-2", "C-3", "C-4", ...many, "C-other"]
    expect(await timesShown(page, all)).to.deep.equal([...all.slice(1).map(() => 1), 0])
  })

  it("replays an event once where the answer was lost, however often it is asked for", async () => {
    const id = await send("D-1")
    const page = await testConsole.signedIn(`/console/events/${id}`, { mayFail: true })
    let count = 0
    await page.route("**/replay", async (route) => {
      await route.fetch()
      count++
      return route.abort()
    })
    const press = async () => {
      await page.getByRole("button", { name: "Replay", exact: true }).press("Enter")
      await page.getByRole("dialog").getByRole("button", { name: "Replay" }).press("Enter")
    }
    await press()
    await page.getByRole("alert").getByText("cannot be reached").first().waitFor()
    expect(count).to.be.at.least(1)
    await page.unroute("**/replay")
    await press()
    await page.getByText("replay of").waitFor()
    const { body } = await testConsole.host.api<{ events: object[] }>("GET", `/v1/events/${id}/replays`)
    expect(body.events).to.have.length(1)
  })
})
