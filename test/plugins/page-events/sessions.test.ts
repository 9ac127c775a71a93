// Sessions of visitors, and derived friction: rage clicks, bails and abandoned forms.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { Store } from "#core"
import { ShiftedClock } from "../../shifted-clock.ts"
import { until } from "../../waiting.ts"
import { event, Loop, type Published, someone } from "./loop.ts"

const minute = 60_000

describe("a visitor's page events", () => {
  const clock = new ShiftedClock()
  let loop: Loop
  let page: Published
  let url: string

  before(async () => {
    loop = await Loop.start({ clock, env: { MILLRACE_JOBS_POLL_MS: "30" } })
    page = await loop.publish()
    url = (await loop.pipeline(page)).inbound_url
  })
  after(() => loop.host.stop())
  const rowOf = (message: { event_id: string }) => loop.rowOf(message)

  it("have a session that ends after half an hour without any, and lasts a day at most", async () => {
    const headers = someone()
    const session = async () => {
      const view = event("pageview")
      await loop.send(url, page, view, headers)
      return (await rowOf(view))?.["session_id"]
    }
    const first = await session()
    clock.ahead += 29 * minute
    expect(await session()).to.equal(first)
    clock.ahead += 29 * minute
    expect(await session()).to.equal(first)
    clock.ahead += 31 * minute
    const second = await session()
    expect(second).not.to.equal(first)
    for (let n = 0; n < 48; n++) {
      clock.ahead += 29 * minute
      expect(await session(), `visit ${n}`).to.equal(second)
    }
    clock.ahead += 60 * minute
    expect(await session()).not.to.equal(second)
  })

  it("show clicks in rage: three, each under a second and 30 px from the one before, once a burst", async () => {
    const rage = async (clicks: [number, number, number, how?: number][]) => {
      const headers = someone()
      const view = event("pageview")
      const requests = clicks.map(([at, x, y, how]) => [at, x, y, "dead", ...(how === undefined ? [] : [how])])
      await loop.send(url, page, { sent_at: 50_000, events: [view], clicks: requests }, headers)
      const { session_id } = (await rowOf(view)) ?? {}
      return (await loop.rows({ event: "rage_click" })).filter((row) => row["session_id"] === session_id)
    }
    expect(
      await rage([
        [1_000, 10, 10],
        [1_999, 39, 10],
        [2_998, 39, 39],
      ]),
    ).to.have.length(1)
    expect(
      await rage([
        [1_000, 10, 10],
        [2_000, 10, 10],
        [2_500, 10, 10],
      ]),
    ).to.have.length(0)
    expect(
      await rage([
        [1_000, 10, 10],
        [1_100, 25, 25],
        [1_200, 25, 25],
      ]),
    ).to.have.length(0)
    expect(
      await rage([
        [1_000, 10, 10],
        [1_100, 10, 10],
      ]),
    ).to.have.length(0)
    const [long, ...more] = await rage(Array.from({ length: 9 }, (_, n) => [1_000 + n * 200, 10, 10]))
    expect([long?.["click_count"], more]).to.deep.equal([9, []])
    const selecting = (length: number) => rage(Array.from({ length }, (_, n) => [1_000 + n * 200, 10, 10, n > 0 ? 1 : 0]))
    expect(await selecting(3), "a line that is selected").to.deep.equal([])
    expect((await selecting(5))[0]).to.include({ click_count: 5 })
    const controls = Array.from({ length: 5 }, (_, n): [number, number, number, number] => [1_000 + n * 200, 10, 10 + 20 * n, 2])
    expect(await rage(controls), "one field after another").to.deep.equal([])
    const [two, other] = await rage([0, 1, 2, 30, 31, 32].map((n) => [1_000 + n * 300, 10, 10]))
    expect([two?.["event_id"], other?.["event_id"]].map((id) => String(id).split(":").slice(1).join(":")).sort()).to.deep.equal([
      "rage_click:1",
      "rage_click:2",
    ])
    expect(two).to.include({ element: "dead", x: 10, y: 10, click_count: 3 })
  })

  it("show clicks in rage across requests, and repeat nothing that is sent again", async () => {
    const headers = someone()
    const first = event("cta_click", { at: 1_000, x: 5, y: 5, element: "buy" })
    const second = event("cta_click", { at: 1_300, x: 5, y: 5, element: "buy" })
    const third = event("cta_click", { at: 1_600, x: 5, y: 5, element: "buy" })
    for (const view of [first, second, second, third, third, third]) await loop.send(url, page, { sent_at: 2_000, events: [view] }, headers)
    const { session_id } = (await rowOf(first)) ?? {}
    expect((await loop.rows({ event: "rage_click", session_id })).length).to.equal(1)
  })

  describe("in requests that overtake each other", () => {
    type At = readonly [at: number, x?: number]
    const signal = ([at, x = 10]: At) => [at, x, 10, `at-${x}`]
    /** Returns rage clicks of one visitor who sends these batches of clicks in this order. */
    const rageOf = async (batches: readonly (readonly At[])[], send: (requests: (() => Promise<unknown>)[]) => Promise<unknown>) => {
      const headers = someone()
      const view = event("pageview")
      await loop.send(url, page, view, headers)
      const requests = batches.map((clicks) => () => {
        const sent_at = Math.max(...clicks.map(([at]) => at)) + 400
        return loop.send(url, page, { sent_at, events: [], clicks: clicks.map(signal) }, headers)
      })
      await send(requests)
      const { session_id } = (await rowOf(view)) ?? {}
      const rows = (await loop.rows({ event: "rage_click", session_id })).map(({ event_id, element, x, y, click_count }) => {
        return { id: String(event_id).replace(String(session_id), ""), element, x, y, click_count }
      })
      return rows.sort((left, right) => (left.id < right.id ? -1 : 1))
    }
    const inOrder = async (requests: (() => Promise<unknown>)[]) => {
      for (const send of requests) await send()
    }
    const reversed = (requests: (() => Promise<unknown>)[]) => inOrder([...requests].reverse())
    const repeated = (requests: (() => Promise<unknown>)[]) => inOrder([...requests, ...[...requests].reverse(), ...requests])
    const atOnce = (requests: (() => Promise<unknown>)[]) => Promise.all(requests.map((send) => send()))
    const clicks = (...times: number[]): At[] => times.map((at) => [at])

    it("make one row of a burst, with its real length", async () => {
      const rows = [{ id: ":rage_click:1", element: "at-10", x: 10, y: 10, click_count: 5 }]
      for (const split of [
        [clicks(1_000, 1_300, 1_600), clicks(1_900, 2_200)],
        [clicks(1_000, 1_300), clicks(1_600, 1_900, 2_200)],
        [clicks(1_000), clicks(1_300), clicks(1_600), clicks(1_900), clicks(2_200)],
        [clicks(1_000, 1_600, 2_200), clicks(1_300, 1_900)],
      ]) {
        for (const send of [inOrder, reversed, repeated, atOnce]) expect(await rageOf(split, send), send.name).to.deep.equal(rows)
      }
    })

    it("put it where it became one: at the third click, whichever came first", async () => {
      const moving: At[] = [1_000, 1_300, 1_600, 1_900].map((at, index) => [at, 10 + index])
      const rows = [{ id: ":rage_click:1", element: "at-12", x: 12, y: 10, click_count: 4 }]
      for (const send of [inOrder, reversed]) expect(await rageOf([moving.slice(0, 1), moving.slice(1)], send)).to.deep.equal(rows)
    })

    it("make one row of two bursts that turn out to be one, and none of one that was not", async () => {
      const two = [clicks(1_000, 1_300, 1_600), clicks(3_200, 3_500, 3_800)]
      expect((await rageOf(two, inOrder)).map(({ click_count }) => click_count)).to.deep.equal([3, 3])
      const joined = await rageOf([...two, clicks(2_400)], inOrder)
      expect(joined.map(({ id, click_count }) => [id, click_count])).to.deep.equal([[":rage_click:1", 7]])
      const elsewhere: At[] = [[1_150, 500]]
      expect(await rageOf([clicks(1_000, 1_100, 1_200, 1_300), elsewhere], inOrder)).to.deep.equal([])
      const split = await rageOf([clicks(1_000, 1_100, 1_200, 1_300, 1_400), elsewhere], inOrder)
      expect(split.map(({ id, click_count }) => [id, click_count])).to.deep.equal([[":rage_click:1", 3]])
    })

    it("count a burst longer than what is remembered of it", async () => {
      const long = Array.from({ length: 13 }, (_, batch) => clicks(...Array.from({ length: 10 }, (_, n) => 1_000 + (batch * 10 + n) * 100)))
      const overtaking = long.map((_, index) => long[index % 2 === 0 ? Math.min(index + 1, 12) : index - 1] ?? [])
      for (const batches of [long, overtaking]) {
        const rows = await rageOf([...batches, long[12] ?? []], inOrder)
        expect(rows.map(({ id, click_count }) => [id, click_count])).to.deep.equal([[":rage_click:1", 130]])
      }
    })
  })

  it("keep the campaign that brought the visitor until another does, on every page", async () => {
    const headers = someone()
    const other = await loop.publish()
    const campaigns = async (on: Published, envelope: object) => {
      const view = event("pageview")
      await loop.send(on === page ? url : (await loop.pipeline(other)).inbound_url, on, { _envelope: envelope, ...view }, headers)
      const { utm_source, utm_term, click_id } = (await rowOf(view)) ?? {}
      return [utm_source, utm_term, click_id]
    }
    expect(await campaigns(page, { utm_source: "letter", utm_term: "spring" })).to.deep.equal(["letter", "spring", ""])
    expect(await campaigns(page, {})).to.deep.equal(["letter", "spring", ""])
    expect(await campaigns(other, {})).to.deep.equal(["letter", "spring", ""])
    expect(await campaigns(page, { utm_source: "search", click_id: "abc" })).to.deep.equal(["search", "", "abc"])
    expect(await campaigns(other, {}), "a page that was visited before").to.deep.equal(["search", "", "abc"])
    clock.ahead += 31 * minute
    expect(await campaigns(page, {})).to.deep.equal(["", "", ""])
  })

  it("say at a session's end who bailed and which form was left, once, also where the process was replaced meanwhile", async () => {
    const visit = async (events: object[], more: object = {}) => {
      const view = event("pageview")
      await loop.send(url, page, { events: [view, ...events], ...more }, someone())
      return (await rowOf(view))?.["session_id"]
    }
    const bailed = await visit([], { depth: 24 })
    const read = await visit([event("scroll_milestone", { scroll_depth: 25 })])
    const clicked = await visit([event("cta_click", { element: "buy" })])
    const rowsOfVisit = await visit([event("form_start", { form: "contact", field: "email" })], {
      depth: 50,
      touched: [
        ["contact", "email"],
        ["contact", "name"],
        ["contact", "0660 1234567"],
      ],
    })
    const message = await visit([event("form_start", { form: "contact" }), event("lead", { form: "contact" })], { depth: 50 })
    const derived = async (session_id: unknown) =>
      (await loop.rows({ session_id: session_id as string })).filter((row) =>
        ["scroll_bail", "form_abandon"].includes(String(row["event"])),
      )
    expect(await derived(bailed)).to.deep.equal([])
    clock.ahead += 31 * minute
    const [bail] = await until(async () => {
      const rows = await derived(bailed)
      return rows.length > 0 && rows
    })
    const [abandoned] = await until(async () => {
      const rows = await derived(rowsOfVisit)
      return rows.length > 0 && rows
    })
    expect(bail).to.deep.include({
      event: "scroll_bail",
      event_id: `${bailed as string}:scroll_bail:1`,
      max_scroll_depth: 24,
      artifact_id: page.id,
    })
    expect(abandoned).to.deep.include({
      event: "form_abandon",
      form: "contact",
      fields_touched: "email,name",
      field_count: 2,
      last_field: "name",
    })
    for (const session of [read, clicked, message]) expect(await derived(session)).to.deep.equal([])
    expect(await derived(bailed)).to.have.length(1)
  })

  it("are judged apart from test traffic, in the same session and on the same page", async () => {
    const visit = async (...requests: { is_test?: boolean; events: object[] }[]) => {
      const headers = someone()
      const view = event("pageview")
      await loop.send(url, page, view, headers)
      for (const request of requests) await loop.send(url, page, request, headers)
      return (await rowOf(view))?.["session_id"] as string
    }
    const formStart = () => event("form_start", { form: "contact", field: "email" })
    const derived = async (session_id: string) =>
      (await loop.rows({ session_id }))
        .filter((row) => ["scroll_bail", "form_abandon"].includes(String(row["event"])))
        .map((row) => [row["event"], row["is_test"]])
        .sort()
    const tried = await visit({ is_test: true, events: [formStart()] }, { events: [event("cta_click", { element: "buy" })] })
    const rowsOfVisit = await visit(
      { events: [formStart()] },
      { is_test: true, events: [event("cta_click"), event("lead", { form: "contact" })] },
    )
    clock.ahead += 31 * minute
    await until(async () => (await derived(tried)).length > 0)
    expect(await derived(tried)).to.deep.equal([["form_abandon", true]])
    await until(async () => (await derived(rowsOfVisit)).length > 1)
    expect(await derived(rowsOfVisit)).to.deep.equal([
      ["form_abandon", false],
      ["scroll_bail", false],
    ])
  })

  it("are judged at a session's end over all of its pages: what was done on one was done", async () => {
    const other = await loop.publish()
    const otherUrl = (await loop.pipeline(other)).inbound_url
    /** First one page, and a minute later the other. */
    const visit = async (first: { events?: object[] } & Record<string, unknown>, second: object) => {
      const headers = someone()
      const view = event("pageview")
      await loop.send(url, page, { ...first, events: [view, ...(first.events ?? [])] }, headers)
      clock.ahead += minute
      await loop.send(otherUrl, other, second, headers)
      return (await rowOf(view))?.["session_id"] as string
    }
    const derived = async (session_id: string) =>
      (await loop.rows({ session_id })).filter((row) => ["scroll_bail", "form_abandon"].includes(String(row["event"])))
    const converted = await visit(
      { events: [event("form_start", { form: "contact", field: "email" })] },
      { events: [event("pageview"), event("cta_click", { element: "buy" }), event("lead", { form: "contact" })] },
    )
    const scrolled = await visit({ depth: 0 }, { events: [event("pageview"), event("scroll_milestone", { scroll_depth: 25 })] })
    const rested = await visit({ clicks: [[1, 1, 1, "picture"]] }, event("pageview"))
    const rowsOfVisit = await visit({ events: [event("form_start", { form: "contact", field: "name" })] }, { depth: 10 })
    clock.ahead += 31 * minute
    const ended = await until(async () => {
      const rows = await derived(rowsOfVisit)
      return rows.length === 2 && rows
    })
    const [abandoned, bail] = ended.sort((item, right) => (String(item["event"]) < String(right["event"]) ? -1 : 1))
    expect(abandoned).to.deep.include({ event: "form_abandon", artifact_id: page.id, form: "contact", fields_touched: "name" })
    expect(bail).to.deep.include({ event: "scroll_bail", artifact_id: other.id, max_scroll_depth: 10 })
    expect(abandoned?.["duration_ms"]).to.be.lessThan(minute)
    expect(bail?.["duration_ms"]).to.be.at.least(minute)
    for (const session of [converted, scrolled, rested]) expect(await derived(session)).to.deep.equal([])
  })
})

describe("sessions", () => {
  it("end, and say what follows, though the service was started again meanwhile", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "millrace-sessions-"))
    const clock = new ShiftedClock()
    const options = { dataDir, clock, env: { MILLRACE_JOBS_POLL_MS: "30" } }
    try {
      const before = await Loop.start(options)
      const page = await before.publish()
      const { inbound_url } = await before.pipeline(page)
      await before.send(inbound_url, page, { events: [{ event: "pageview", event_id: "before-the-stop" }] })
      await before.host.stop()
      clock.ahead = 31 * minute
      const after = await Loop.start(options)
      const [bail] = await until(async () => {
        const rows = await after.rows({ event: "scroll_bail" })
        return rows.length > 0 && rows
      })
      const [view] = await after.rows({ event: "pageview" })
      expect(bail).to.include({ session_id: view?.["session_id"] as string, artifact_id: page.id })
      await after.host.stop()
    } finally {
      rmSync(dataDir, { recursive: true, force: true })
    }
  })

  it("lose nothing that is sent the moment they end", async () => {
    const loop = await Loop.start()
    try {
      const page = await loop.publish()
      const { inbound_url } = await loop.pipeline(page)
      await loop.send(inbound_url, page, { event: "pageview", event_id: "before-the-end" })
      const store = loop.host.get(Store)
      const commit = store.commit.bind(store)
      // The job that ends the session is slightly faster than the visitor's next action.
      store.commit = async (commitInput) => {
        const session = commitInput.writes.find((write) => write.kind === "update" && write.collection.name === "page_sessions")
        if (session?.kind === "update") {
          store.commit = commit
          await commit({ id: "the-end", writes: [{ ...session, kind: "remove", where: {} }] })
        }
        return commit(commitInput)
      }
      const { status } = await loop.send(inbound_url, page, { event: "cta_click", event_id: "at-the-end", element: "buy" })
      expect(store.commit, "the session was updated").to.equal(commit)
      expect(status).to.equal(200)
      const [before, after] = [await loop.rowOf({ event_id: "before-the-end" }), await loop.rowOf({ event_id: "at-the-end" })]
      expect(after?.["session_id"]).to.be.a("string").and.not.to.equal(before?.["session_id"])
    } finally {
      await loop.host.stop()
    }
  })

  it("are one, however many requests of a visitor come at once", async () => {
    const loop = await Loop.start()
    try {
      const page = await loop.publish()
      const { inbound_url } = await loop.pipeline(page)
      const answers = Array.from({ length: 30 }, (_, n) => loop.send(inbound_url, page, { event: "pageview", event_id: `at-once-${n}` }))
      expect((await Promise.all(answers)).map(({ status }) => status)).to.deep.equal(Array.from({ length: 30 }, () => 200))
      const rows = await loop.rows({ event: "pageview" })
      expect(rows).to.have.length(30)
      expect(new Set(rows.map((row) => row["session_id"]))).to.have.property("size", 1)
    } finally {
      await loop.host.stop()
    }
  })
})
