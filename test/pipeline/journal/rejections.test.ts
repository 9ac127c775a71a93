// A flood of bad events cannot fill the disk. Above a cap they fold into one entry per cause with a count.
import { expect } from "chai"
import { until } from "../../waiting.ts"
import { Bench, post } from "../bench.ts"
import { onBothStores } from "../stores.ts"

onBothStores("a flood of rejections", ({ start }) => {
  it("folds into one entry a cause above the cap, with the count and the times", async () => {
    const host = await start({ env: { MILLRACE_INBOUND_REJECTED_ENTRIES_PER_MINUTE: "5" } })
    // All within one minute, so the counts below are exact.
    host.clock.set(Math.floor(Date.now() / 60_000) * 60_000)
    const bench = new Bench(host)
    const pipeline = await bench.make({
      name: "Flooded",
      auth_mode: "shared_secret_header",
      auth_config: { secret: "flood-SECRET-of-many" },
      request_schema: { type: "object", required: ["n"] },
    })
    const calm = await bench.make({ name: "Calm", auth_mode: "shared_secret_header", auth_config: { secret: "flood-SECRET-of-many" } })
    const wrong = { "x-webhook-secret": "guess" }
    const right = { "x-webhook-secret": "flood-SECRET-of-many" }
    for (let n = 0; n < 4; n++) {
      await Promise.all(Array.from({ length: 15 }, () => post(pipeline.inbound_url, { n }, wrong)))
      host.clock.move(1_000)
    }
    await Promise.all(Array.from({ length: 10 }, () => post(pipeline.inbound_url, {}, right)))
    host.clock.move(1_000)
    const total = (entries: { count: number }[]) => entries.reduce((sum, { count }) => sum + count, 0)
    await until(async () => total(await bench.entries("flooded", "?limit=200")) === 70)
    const entries = await bench.entries("flooded", "?limit=200")
    expect(entries.length).to.equal(7)
    const folded = entries.filter(({ count }) => count > 1)
    expect(folded.map(({ cause, count, status }) => [cause, count, status]).sort()).to.deep.equal([
      ["schema_mismatch", 10, "rejected"],
      ["wrong_secret", 55, "rejected"],
    ])
    for (const entry of folded) expect(entry.first_at <= entry.last_at, `${entry.first_at} ${entry.last_at}`).to.equal(true)
    expect((await post(pipeline.inbound_url, { n: 1 }, right)).status).to.equal(200)
    expect(await bench.books()).to.include({ entries: 8, payloads: 1, rows: 0 })
    await post(calm.inbound_url, {}, wrong)
    expect(await bench.entries("calm")).to.have.length(1)
    expect(await (await fetch(`${host.url}/metrics`)).text()).to.match(
      /millrace_events_total\{status="rejected",cause="wrong_secret",pipeline="[0-9a-f-]{36}"\} 60/,
    )
  })
})
