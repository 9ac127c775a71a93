// No 2xx before the commit: an answer waits for the disk. Without a working disk, the sender receives a retryable answer.
import { expect } from "chai"
import { AppError, Store } from "#core"
import type { TestHost } from "#core/testing"
import type { Commit } from "../../../core/contract/store.ts"
import type { StartedStore } from "../../../core/storage/store.ts"
import { RowsCollection } from "../../../plugins/data/datasets/collections.ts"
import { until } from "../../waiting.ts"
import { type Answered, Bench, post, turn } from "../bench.ts"
import { onBothStores } from "../stores.ts"

onBothStores("an event and its commit", ({ start }) => {
  let host: TestHost
  let bench: Bench
  let url: string
  before(async () => {
    host = await start()
    bench = new Bench(host)
    url = (
      await bench.make({
        name: "Kept",
        pipeline: [
          { type: "dataset.write", dataset_slug: "kept" },
          { type: "live.broadcast", channel: "kept" },
        ],
      })
    ).inbound_url
    await post(url, { n: 0 })
  })

  /** Returns true for commits of an event. The service's own commits do not count. */
  const ofEvent = ({ writes }: Commit) => writes.some(({ collection }) => collection === (RowsCollection as unknown))

  /** Runs with every commit going through `over`. */
  const withCommit = async (over: (real: Store["commit"]) => Store["commit"], run: () => Promise<void>) => {
    const store = host.get(Store) as { commit: Store["commit"] }
    const real = store.commit
    store.commit = over(real.bind(store))
    try {
      await run()
    } finally {
      store.commit = real
    }
  }

  it("answers only when the commit has", async () => {
    let answered = false
    let letGo: () => void = () => {}
    const gate = new Promise<void>((resolve) => {
      letGo = resolve
    })
    let started = false
    await withCommit(
      (real) => async (commit) => {
        if (!ofEvent(commit)) return real(commit)
        started = true
        await gate
        return real(commit)
      },
      async () => {
        const answer = post(url, { n: 1 }).finally(() => {
          answered = true
        })
        await until("the commit of the event", () => started)
        for (let i = 0; i < 20; i++) await turn()
        expect(answered).to.equal(false)
        expect(await bench.rows("kept")).to.have.length(1)
        letGo()
        expect((await answer).status).to.equal(200)
      },
    )
    expect(await bench.rows("kept")).to.have.length(2)
  })

  it("answers 503 with Retry-After while nothing can be committed, keeps nothing, and works again after", async () => {
    const before = await bench.books()
    await withCommit(
      () => () => Promise.reject(new AppError("unavailable", "the disk of node-7 is full", { reason: "storage_full" })),
      async () => {
        for (const body of [{ n: 2 }, "{"]) expectUnavailable(await post(url, body))
      },
    )
    expect(await bench.books()).to.deep.equal(before)
    expect((await post(url, { n: 3 })).status).to.equal(200)
    expect((await bench.rows("kept")).map(({ values }) => values["n"]))
      .to.include(3)
      .and.not.to.include(2)
  })

  it("journals a commit that was refused, and drops what went with it", async () => {
    const before = await bench.books()
    await withCommit(
      (real) => (commit) =>
        ofEvent(commit) ? Promise.reject(new AppError("aborted", "someone else was first", { reason: "still_running" })) : real(commit),
      async () => {
        const answer = await post(url, { n: 4 })
        expect([answer.status, answer.body.details.reason]).to.deep.equal([500, "commit_refused"])
      },
    )
    const entry = await bench.newest("kept")
    expect(entry).to.deep.include({ status: "failed", cause: "commit_refused", rows: [] })
    const after = await bench.books()
    expect([after.entries - before.entries, after.rows - before.rows, after.messages - before.messages]).to.deep.equal([1, 0, 0])
  })

  it("answers 503 once its storage has stopped, for what it knows and what it does not", async () => {
    await (host.get(Store) as StartedStore).stop()
    for (const body of [{ n: 5 }, "{"]) expectUnavailable(await post(url, body))
    expectUnavailable(await post(`${host.url}/v1/inbound/in_000000000000000000000x`, {}))
    // The service retries pending writes for twenty seconds.
    let stopped = false
    const stopping = host.stop().finally(() => {
      stopped = true
    })
    await until("the service being stopped", () => {
      host.clock.move(20_000)
      return stopped
    })
    await stopping
  })
})

function expectUnavailable(answer: Answered): void {
  expect([answer.status, answer.body.code, answer.headers.get("retry-after")]).to.deep.equal([503, "unavailable", "1"])
  expect(answer.text).not.to.match(/sqlite|mongo|stopped|node-7/i)
}
