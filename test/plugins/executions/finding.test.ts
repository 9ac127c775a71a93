// Events found by any part of their text, from the index and from events not yet indexed. Also events that must not be found.
import { expect } from "chai"
import { Ids, Leases, Log, Store, UnitsOfWork } from "#core"
import type { TestHost } from "#core/testing"
import {
  blockId,
  blockIds,
  EventIndexCollection,
  EventIndexPartCollection,
  type Segment,
} from "../../../plugins/capture/executions/collections.ts"
import { IndexBuilder } from "../../../plugins/capture/executions/finding/builder.ts"
import { Organizations } from "../../../plugins/platform/organizations/index.ts"
import { onBothStores } from "../../pipeline/stores.ts"
import { patiently, untilAvailable } from "../../waiting.ts"
import { pluginSettings } from "../buckets/stores.ts"

interface Event {
  readonly id: string
  readonly payload_preview: string
  readonly status: string
  readonly received_at: string
}
interface SearchPage {
  readonly events: Event[]
  readonly complete: boolean
  readonly indexed_through: string
}

const dayMs = 86_400_000
/** More events than the index reads from the journal at once. */
const moreThanARead = 260

onBothStores("finding events", ({ start }) => {
  let host: TestHost
  let first: string
  before(async () => {
    host = await start({ env: pluginSettings({ events: { find_index: false } }) })
    for (const name of ["Orders", "Leads"]) {
      const response = await host.api("POST", "/v1/event-pipelines", { name, state: "active", source_kind: "internal", pipeline: [] })
      expect(response.status).to.equal(200)
    }
    first = await sendEvent("orders", {
      order: "A-1042",
      email: "Ada@Example.com",
      page: "https://shop.example.com/checkout?step=2",
      note: "Bitte in die Müllerstraße 7 liefern, 東京",
      api_key: "sk-very-hidden-7781",
    })
  })
  const sendEvent = async (slug: string, payload: object) => {
    const send = () => host.invoke<{ execution_id: string }>("event_pipelines.send_event", { slug, payload })
    return (await untilAvailable(send)).execution_id
  }
  const find = async (text: string, more = "") =>
    (await patiently(() => host.api<SearchPage>("GET", `/v1/events/find?text=${encodeURIComponent(text)}${more}`))).body
  const ids = async (text: string) => (await find(text)).events.map(({ id }) => id)
  const pieces = [
    "A-1042",
    "ada@example.com",
    "https://shop.example.com/checkout?step=2",
    "shop.example.com/checkout",
    "müllerstraße 7",
    "東京",
    '{"order": "A-1042", "email"',
  ]
  const checkPieces = async () => {
    for (const piece of pieces) expect(await ids(piece), piece).to.deep.equal([first])
    expect(await ids(first), "its id").to.deep.equal([first])
    for (const absent of ["sk-very-hidden-7781", "hidden", "A-1043", "bda@example.com"]) expect(await ids(absent), absent).to.be.empty
  }

  it("finds an event by each piece of it before it is indexed, and no redacted one", checkPieces)

  it("finds it in the index, in segments that were merged, and those that came since", async () => {
    const { clock, get } = host
    const [works, organizations] = [get(UnitsOfWork), get(Organizations)]
    // Replaces the service's own builder, which leaves only a few events unread.
    const builder = new IndexBuilder({
      store: get(Store),
      works,
      clock,
      ids: get(Ids),
      leases: get(Leases),
      log: get(Log),
      organizations: () => organizations.all(),
      payloadsDays: 7,
      minEntries: 8,
    })
    // On the morning of the next day: only segments of one day are merged.
    const now = clock.now()
    clock.move(dayMs - (now % dayMs))
    let sentBefore = 0
    for (const count of [moreThanARead, ...Array.from({ length: 8 }, () => 8), 7]) {
      await find("nothing")
      const batch = Array.from({ length: count }, () => ({ customer: `c${sentBefore++}`, campaign: "spring sale" }))
      await Promise.all(batch.map((payload) => sendEvent("leads", payload)))
      clock.move(dayMs / 24)
      await untilAvailable(() => builder.turn())
    }
    const index = await get(Store).open(EventIndexCollection, host.organization.id).get(host.organization.id)
    expect(index?.segments.map(({ entries }) => entries)).to.have.members([1, moreThanARead, 64])
    await checkPieces()
    expect((await ids("c7")).length).to.equal(1)
    expect((await ids(`c${moreThanARead + 7}`)).length).to.equal(1)
    expect((await ids(`c${sentBefore - 1}`)).length).to.equal(1)
    const many = await find("spring sale", "&limit=10")
    expect(many.events).to.have.length(10)
    expect(many.complete).to.equal(false)
    const times = many.events.map(({ received_at }) => received_at)
    expect(times).to.deep.equal([...times].sort().reverse())
  })

  it("finds it in segments of an earlier version, whose blocks held more", async () => {
    const [store, works, organization] = [host.get(Store), host.get(UnitsOfWork), host.organization.id]
    const index = await store.open(EventIndexCollection, organization).get(organization)
    const segments = index?.segments ?? []
    const parts = store.open(EventIndexPartCollection, organization)
    const bytes = async (segment: Segment) => {
      const blocks = await Promise.all(blockIds(segment).map((id) => parts.get(id)))
      return Buffer.concat(blocks.map((block) => Buffer.from(block?.base64 ?? "", "base64")))
    }
    const whole = await Promise.all(
      segments.map(async (segment) => ({ id: segment.id, base64: (await bytes(segment)).toString("base64") })),
    )
    await untilAvailable(() =>
      works.run((work) => {
        const earlier = segments.map(({ ids_per_block: _, ...segment }) => segment)
        work.in(EventIndexCollection, organization).update(organization, { $set: { segments: earlier } })
        for (const { id, base64 } of whole) work.in(EventIndexPartCollection, organization).update(blockId(id, 0), { $set: { base64 } })
        for (const id of segments.flatMap((segment) => blockIds(segment).slice(1)))
          work.in(EventIndexPartCollection, organization).remove(id)
      }),
    )
    await checkPieces()
    for (const n of [0, 130, moreThanARead - 1]) expect((await ids(`c${n}`)).length, `c${n}`).to.equal(1)
  })

  it("refuses a text without a word, and shows nothing to guests and other organizations", async () => {
    const { status, body } = await host.api<{ details: { reason: string } }>("GET", "/v1/events/find?text=%21%3F")
    expect([status, body.details.reason]).to.deep.equal([400, "nothing_to_find"])
    const key = await host.api<{ secret: string }>("POST", "/v1/api-keys", { name: "guest", role: "guest" })
    const asGuest = await host.api("GET", "/v1/events/find?text=A-1042", undefined, { key: key.body.secret })
    expect(asGuest.status).to.equal(403)
  })

  it("forgets an event with its payload, and the index with it", async () => {
    host.clock.move(7 * dayMs)
    expect(await ids("A-1042")).to.be.empty
    expect(await ids(first), "its id").to.deep.equal([first])
    const parts = host.get(Store).open(EventIndexPartCollection, host.organization.id)
    const remaining = await parts.find({}, { limit: 10_000 })
    expect(remaining.every(({ expires_at }) => Date.parse(expires_at) < host.clock.now() + dayMs)).to.equal(true)
  })
})
