// The index of events with long texts: segments are built and merged while the service serves others.
import { expect } from "chai"
import { Ids, Leases, Log, Store, UnitsOfWork } from "#core"
import { EntryCollection } from "#core/engine"
import { type TestHost, testHost } from "#core/testing"
import { EventIndexCollection } from "../../../plugins/capture/executions/collections.ts"
import { IndexBuilder } from "../../../plugins/capture/executions/finding/builder.ts"
import { Organizations } from "../../../plugins/platform/organizations/index.ts"
import { expectShortTurn, longestTurn, printLongestTurns } from "../../longest-turn.ts"
import { untilAvailable } from "../../waiting.ts"
import { pluginSettings } from "../buckets/stores.ts"

const dayMs = 86_400_000
const perSegment = 300
const wordsPerEntry = 1_000
const segmentsOfMerge = 8

describe("the index of events with long texts", () => {
  let host: TestHost
  before(async () => {
    host = await testHost({ capture: false, env: pluginSettings({ events: { find_index: false } }) })
  })
  after(() => host.stop())

  it("leaves the main thread to others while segments are made and merged", async () => {
    const { clock, get } = host
    const [store, works, ids, organizations] = [get(Store), get(UnitsOfWork), get(Ids), get(Organizations)]
    const organization = host.organization.id
    await host.api("POST", "/v1/event-pipelines", { name: "Orders", state: "active", source_kind: "internal", pipeline: [] })
    // Only segments of one day are merged.
    clock.move(dayMs - (clock.now() % dayMs))
    const send = () => host.invoke<{ execution_id: string }>("event_pipelines.send_event", { slug: "orders", payload: { order: 1 } })
    const { execution_id } = await untilAvailable(send)
    const journalEntry = await store.open(EntryCollection, organization).get(execution_id)
    if (!journalEntry) throw new Error("The event has no entry.")
    const builder = new IndexBuilder({
      ...{ store, works, clock, ids, leases: get(Leases), log: get(Log), payloadsDays: 7, minEntries: 8 },
      organizations: () => organizations.all(),
    })
    const turns: { what: string; milliseconds: number }[] = []
    let word = 0
    for (let segment = 1; segment <= segmentsOfMerge; segment++) {
      const received_at = new Date(clock.now()).toISOString()
      const entries = Array.from({ length: perSegment }, () => {
        const text = Array.from({ length: wordsPerEntry }, () => `w${word++}`).join(" ")
        return { ...journalEntry, id: ids.uuid(), received_at, transformed: { text } }
      })
      for (let from = 0; from < perSegment; from += 50)
        await works.run((work) => {
          for (const entry of entries.slice(from, from + 50)) work.in(EntryCollection, organization).insert(entry)
        })
      clock.move(dayMs / 24)
      const { milliseconds } = await longestTurn(() => untilAvailable(() => builder.turn()))
      turns.push({ what: `segment ${segment}`, milliseconds })
    }
    printLongestTurns(turns)
    const index = await store.open(EventIndexCollection, organization).get(organization)
    expect(index?.segments.map(({ entries }) => entries)).to.deep.equal([segmentsOfMerge * perSegment + 1])
    const { body } = await host.api<{ events: { id: string }[] }>("GET", `/v1/events/find?text=w${word - 1}`)
    expect(body.events).to.have.length(1)
    for (const { what, milliseconds } of turns) expectShortTurn(milliseconds, what)
  })
})
