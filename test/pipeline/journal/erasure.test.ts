// The sweep of expired payloads in the journal: its reads and writes, and its position.
import { expect } from "chai"
import type { Commit, CommitResult, Store } from "../../../core/contract/store.ts"
import type { Clock } from "../../../core/kernel/clock.ts"
import { timestamp } from "../../../core/kernel/clock.ts"
import { timeOrderedIds } from "../../../core/kernel/ids.ts"
import { createLog } from "../../../core/kernel/log.ts"
import { EntryCollection, journalCollections } from "../../../core/pipeline/journal/collections.ts"
import { draftEntry } from "../../../core/pipeline/journal/draft.ts"
import { ErasureMarkCollection, PayloadErasure } from "../../../core/pipeline/journal/erasure.ts"
import { storedEntry } from "../../../core/pipeline/journal/stored.ts"
import type { StoredPipeline } from "../../../core/pipeline/source.ts"
import { type OpenedFile, openFile } from "../../storage/opened.ts"

const dayMs = 86_400_000
const today = Date.parse("2026-03-01T12:00:00Z")
const acme = "0199aaaa-0000-7000-8000-000000000001"
const [busy, quiet] = ["0199bbbb-0000-7000-8000-000000000001", "0199bbbb-0000-7000-8000-000000000002"]

describe("erasure of expired payloads", () => {
  let opened: OpenedFile
  let now: number
  /** Wall time and measured time, set by the test. */
  let clock: Clock
  let writes: Commit["writes"][number][]
  let missingCount: number
  /** Outcome of a commit. */
  let commit: (input: Commit) => Promise<CommitResult>

  beforeEach(async () => {
    opened = await openFile([...journalCollections, ErasureMarkCollection])
    now = today
    clock = { now: () => now, monotonic: () => now, after: () => () => undefined }
    writes = []
    missingCount = 0
    commit = (input) => opened.store.commit(input)
  })
  afterEach(() => opened.close())

  const ids = timeOrderedIds({ now: () => today, monotonic: () => 0, after: () => () => undefined })

  async function add(pipeline: string, count: number, ageDays: number, preview = '{"name":"Ada"}'): Promise<string[]> {
    const stored = { id: pipeline, slug: "p", revision: 1, document: { auth_mode: "none" } } as StoredPipeline
    const entries = Array.from({ length: count }, (_, index) => {
      const receivedAtMs = now - ageDays * dayMs + index
      const entry = draftEntry({ id: ids.uuid(), stored, digest: "d", receivedAtMs, entriesDays: 400 })
      return storedEntry({ ...entry, payload_preview: preview })
    })
    const inserts = entries.map((doc) => ({ kind: "insert", collection: EntryCollection, organization: acme, doc }) as const)
    await opened.store.commit({ id: ids.uuid(), writes: inserts })
    return entries.map(({ id }) => id)
  }

  const countHeld = async (pipeline = busy) =>
    await opened.store.open(EntryCollection, acme).count({ pipeline_id: pipeline, payload_preview: { $exists: true } })
  const mark = async () => await opened.store.open(ErasureMarkCollection, acme).get(busy)

  function erasure(days = 7): PayloadErasure {
    const store: Store = {
      ...opened.store,
      open: ((...args: Parameters<Store["open"]>) => {
        const collection = opened.store.open(...args)
        const find: typeof collection.find = async (...query) => {
          const documents = await collection.find(...query)
          missingCount += documents.length
          return documents
        }
        return { ...collection, get: (id: string) => collection.get(id), find }
      }) as Store["open"],
      commit: async (input) => {
        const result = await commit(input)
        writes.push(...input.writes)
        return result
      },
    }
    return new PayloadErasure({
      discardWork: () => undefined,
      store,
      clock,
      ids,
      log: createLog("fatal"),
      days,
      leases: { claim: async () => true, release: async () => undefined },
      async *pipelines() {
        for (const id of [busy, quiet]) yield { id, organization: acme }
      },
    })
  }

  const erasedIds = () => writes.flatMap((write) => (write.kind === "update" && write.collection === EntryCollection ? [write.id] : []))

  it("reads every entry once, and none that is young", async () => {
    const old = await add(busy, 250, 8)
    await add(busy, 30, 6)
    await erasure().turn()
    expect([await countHeld(), missingCount, writes.length]).to.deep.equal([30, 250, 250 + 250 + 3])
    expect(erasedIds()).to.deep.equal(old)
    now += dayMs + 1_000
    await erasure().turn()
    expect([await countHeld(), missingCount]).to.deep.equal([0, 280])
  })

  it("goes on behind the last batch that was committed, after a kill in the middle", async () => {
    const old = await add(busy, 450, 8)
    let remaining = 2
    const killed = new Promise<void>((resolve) => {
      commit = (input) => {
        if (remaining-- > 0) return opened.store.commit(input)
        resolve()
        return new Promise(() => undefined)
      }
    })
    void erasure().turn()
    await killed
    expect(await countHeld()).to.equal(250)
    commit = (input) => opened.store.commit(input)
    missingCount = 0
    await erasure().turn()
    expect([await countHeld(), missingCount]).to.deep.equal([0, 250])
    expect(erasedIds(), "each once").to.deep.equal(old)
  })

  it("writes nothing for entries that hold no payload but how far it is", async () => {
    await add(busy, 150, 8, "")
    await erasure().turn()
    expect(writes.map(({ collection }) => collection.name)).to.deep.equal(["payload_erasure_marks", "payload_erasure_marks"])
    await erasure().turn()
    expect([writes.length, missingCount]).to.deep.equal([2, 150])
  })

  it("gives every pipeline a batch before any its second, and pauses after a second for as long", async () => {
    await add(busy, 250, 8)
    await add(quiet, 5, 8)
    commit = async (input) => {
      now += 600
      return await opened.store.commit(input)
    }
    const payloadErasure = erasure()
    expect(await payloadErasure.turn()).to.equal(1_200)
    expect([await countHeld(busy), await countHeld(quiet)]).to.deep.equal([150, 0])
    await payloadErasure.turn()
    expect(await countHeld(busy)).to.equal(0)
  })

  it("follows a setting that is made shorter, and one that is made longer", async () => {
    await add(busy, 1, 20)
    await add(busy, 1, 10)
    await add(busy, 1, 3)
    await erasure(15).turn()
    expect(await countHeld()).to.equal(2)
    await erasure(7).turn()
    expect(await countHeld()).to.equal(1)
    now += 10 * dayMs
    await erasure(30).turn()
    expect(await countHeld()).to.equal(1)
    now += 20 * dayMs
    await erasure(30).turn()
    expect([await countHeld(), missingCount], "none read twice").to.deep.equal([0, 3])
  })

  it("leaves the pipeline to the node that has moved on with it meanwhile", async () => {
    await add(busy, 250, 8)
    commit = async (input) => {
      commit = (next) => opened.store.commit(next)
      await erasure().turn()
      return await opened.store.commit(input)
    }
    await erasure().turn()
    expect(await countHeld()).to.equal(0)
    const last = (await opened.store.open(EntryCollection, acme).find({}, { sort: { received_at: -1 }, limit: 1 }))[0]
    expect(await mark()).to.include({ received_at: last?.received_at, execution_id: last?.id })
  })

  it("begins again where a clock that was ahead has left its mark", async () => {
    now += 100 * dayMs
    await add(busy, 3, 8)
    await erasure().turn()
    now = today
    await add(busy, 3, 8)
    await erasure().turn()
    expect(await countHeld()).to.equal(0)
    expect((await mark())?.received_at).to.equal(timestamp(today - 8 * dayMs + 2))
  })
})
