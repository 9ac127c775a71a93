// Idempotency-Key: a repeat returns the first answer, without a second effect and without repeated secrets.
import { expect } from "chai"
import type { Caller } from "../../core/contract/caller.ts"
import { timeOrderedIds } from "../../core/kernel/ids.ts"
import { MovableClock } from "../../core/kernel/movable-clock.ts"
import { Idempotency, IdempotencyRecords } from "../../core/surface/call/idempotency.ts"
import { until } from "../waiting.ts"
import { Notes, orgA } from "./operations.ts"
import { call, openSurfaceBench, type SurfaceBench } from "./surface-bench.ts"

describe("an Idempotency-Key", () => {
  let bench: SurfaceBench
  before(async () => {
    bench = await openSurfaceBench()
  })
  after(() => bench.close())

  const create = (key: string, body: unknown, options: { key?: string } = {}) =>
    call(bench, "POST", "/v1/notes", { body, headers: { "idempotency-key": key }, ...options })

  it("gets the first answer again, also with the fields in another order, and does nothing twice", async () => {
    const handled = bench.stage.handled
    const first = await create("k1", { id: "k1", text: "once" })
    const again = await create("k1", { text: "once", id: "k1" })
    expect([first.status, again.status]).to.deep.equal([201, 201])
    expect(again.text).to.equal(first.text)
    expect(first.headers.has("idempotency-replayed")).to.equal(false)
    expect(again.headers.get("idempotency-replayed")).to.equal("true")
    expect(bench.stage.handled).to.equal(handled + 1)
  })

  it("is the same key bare and in the quotes of a structured header, and refused where the quotes are broken", async () => {
    const first = await create('"q-\\"1\\\\"', { id: "q1", text: "quoted" })
    expect(first.status, first.text).to.equal(201)
    for (const same of ['q-"1\\', '"q-\\"1\\\\"; v=1']) {
      const again = await create(same, { id: "q1", text: "quoted" })
      expect([again.status, again.headers.get("idempotency-replayed")], same).to.deep.equal([201, "true"])
    }
    for (const broken of ["", '"', '"q', '"q" tail', '""', '"q\\w"', '"two words"']) {
      const answer = await create(broken, { id: "q2", text: "never" })
      expect([answer.status, answer.json.details?.["reason"]], broken).to.deep.equal([400, "invalid_idempotency_key"])
    }
    expect(await bench.store.open(Notes, orgA.id).get("q2")).to.equal(undefined)
  })

  it("refuses another body under the same key", async () => {
    const answer = await create("k1", { id: "k1-other", text: "other" })
    expect(answer.status).to.equal(400)
    expect(answer.json.details).to.include({ reason: "idempotency_key_reused" })
    expect(await bench.store.open(Notes, orgA.id).get("k1-other")).to.equal(undefined)
  })

  it("is another key in another organization, and refused when malformed", async () => {
    expect((await create("k1", { id: "k1", text: "of bolt" }, { key: "b-member" })).status).to.equal(201)
    const malformed = await create("two words", { id: "k-bad", text: "x" })
    expect(malformed.json.details).to.include({ reason: "invalid_idempotency_key" })
    expect(await bench.store.open(Notes, orgA.id).get("k-bad")).to.equal(undefined)
  })

  it("keeps the answer without its secret, and says so in the repeat", async () => {
    const first = await create("k2", { id: "k2", text: "t", secret: "s3cr3t" })
    expect(first.json).to.deep.equal({ id: "k2", text: "t", secret: "shown-s3cr3t" })
    const again = await create("k2", { id: "k2", text: "t", secret: "s3cr3t" })
    expect(again.status).to.equal(201)
    expect(again.json).to.deep.equal({ id: "k2", text: "t", details: { reason: "secret_shown_once", omitted: ["secret"] } })
    const records = await bench.store.open(IdempotencyRecords, orgA.id).find({})
    expect(JSON.stringify(records)).not.to.contain("s3cr3t")
  })

  it("is aborted while the first is still running, and answered after", async () => {
    let open: () => void = () => {}
    bench.stage.gate = new Promise((resolve) => {
      open = resolve
    })
    const entered = new Promise<void>((resolve) => {
      bench.stage.entered = resolve
    })
    const first = create("k3", { id: "k3", text: "slow" })
    await entered
    const during = await create("k3", { id: "k3", text: "slow" })
    expect(during.status).to.equal(409)
    expect(during.json).to.include({ code: "aborted" })
    expect(during.json.details).to.include({ reason: "still_running" })
    open()
    expect((await first).status).to.equal(201)
    expect((await create("k3", { id: "k3", text: "slow" })).status).to.equal(201)
  })

  it("decides between two nodes at commit: one effect, one answer for both", async () => {
    const nodes = [bench.makeInvoker(), bench.makeInvoker()]
    const operation = bench.operations.find(({ name }) => name === "notes.create")
    if (!operation) throw new Error("no such operation")
    let open: () => void = () => {}
    bench.stage.gate = new Promise((resolve) => {
      open = resolve
    })
    let inside = 0
    const both = new Promise<void>((resolve) => {
      bench.stage.entered = () => {
        if (++inside === 2) resolve()
      }
    })
    const credentials = { bearer: "a-member", organization: undefined, surface: "rest" as const, requestId: "r", log: bench.log }
    const calls = nodes.map((node) => node.invoke(operation, { id: "k4", text: "race" }, credentials, { idempotencyKey: "k4" }))
    await both
    open()
    const answers = await Promise.all(calls)
    expect(answers.map((answer) => answer.kind === "json" && answer.repeated).sort()).to.deep.equal([false, true])
    for (const answer of answers) expect(answer).to.deep.include({ status: 201, body: { id: "k4", text: "race" } })
    bench.stage.entered = () => {}
  })

  it("lets only one node start a call that reaches beyond the service", async () => {
    const operation = bench.operations.find(({ name }) => name === "notes.send")
    if (!operation) throw new Error("no such operation")
    const [one, two] = [bench.makeInvoker(), bench.makeInvoker()]
    const credentials = { bearer: "a-member", organization: undefined, surface: "rest" as const, requestId: "r", log: bench.log }
    const send = (node: typeof one, fail = false) => node.invoke(operation, { fail }, credentials, { idempotencyKey: fail ? "k7" : "k6" })
    let open: () => void = () => {}
    bench.stage.gate = new Promise((resolve) => {
      open = resolve
    })
    const entered = new Promise<void>((resolve) => {
      bench.stage.entered = resolve
    })
    const handled = bench.stage.handled
    const first = send(one)
    await entered
    const second = await send(two).catch((error: { code: string; details: unknown }) => error)
    expect(second).to.deep.include({ code: "aborted", details: { reason: "still_running" } })
    open()
    const answer = await first
    expect(await send(two)).to.deep.equal({ ...answer, repeated: true })
    expect(bench.stage.handled).to.equal(handled + 1)

    for (const node of [one, two]) {
      const failed = await send(node, true).catch((error: { code: string }) => error.code)
      expect(failed, "a failed call must not hold its key").to.equal("unavailable")
    }
    bench.stage.entered = () => {}
  })

  it("tells repeats that nobody knows what a call did whose node died, unless it answers after all", async () => {
    const operation = bench.operations.find(({ name }) => name === "notes.send")
    if (!operation) throw new Error("no such operation")
    const [lost, other] = [bench.makeInvoker(), bench.makeInvoker()]
    const credentials = { bearer: "a-member", organization: undefined, surface: "rest" as const, requestId: "r", log: bench.log }
    const send = (node: typeof lost) => node.invoke(operation, {}, credentials, { idempotencyKey: "k8" })
    let open: () => void = () => {}
    bench.stage.gate = new Promise((resolve) => {
      open = resolve
    })
    const entered = new Promise<void>((resolve) => {
      bench.stage.entered = resolve
    })
    const first = send(lost)
    await entered
    const handled = bench.stage.handled
    bench.clock.ahead += 31_000
    const refused = await send(other).catch((error: { code: string; details: unknown }) => error)
    expect(refused).to.deep.include({ code: "failed_precondition", details: { reason: "outcome_unknown" } })
    open()
    const answer = await first
    expect(await send(other)).to.deep.equal({ ...answer, repeated: true })
    expect(bench.stage.handled).to.equal(handled)
    bench.stage.entered = () => {}
  })

  it("stays a running call's for as long as its node renews the lease", async () => {
    const clock = new MovableClock()
    const make = () => new Idempotency({ store: bench.store, clock, ids: timeOrderedIds(clock), digestKey: Buffer.alloc(32, 7) })
    const operation = bench.operations.find(({ name }) => name === "notes.send")
    if (!operation) throw new Error("no such operation")
    const caller = { organization: { id: orgA.id, slug: orgA.slug } } as Caller
    const claim = () => make().claim(operation, caller, "k9", {})
    const working = claim()
    await working.reserve()
    const record = () => bench.store.open(IdempotencyRecords, orgA.id).get(working.id)
    const reason = () =>
      claim()
        .first()
        .then(
          () => "free",
          ({ details }: { details: { reason: string } }) => details.reason,
        )
    for (let renewal = 0; renewal < 8; renewal++) {
      const before = await record()
      clock.move(10_000)
      await until("the renewal", async () => (await record())?.leased_until !== before?.leased_until)
      expect(await reason()).to.equal("still_running")
    }
    await working.release()
    expect(await record()).to.equal(undefined)
    expect(await reason()).to.equal("free")
  })

  it("runs a call again that had failed, and one that is a day old", async () => {
    expect((await create("k5", { id: "k1", text: "taken" })).status).to.equal(409)
    expect((await create("k5", { id: "k5", text: "free" })).status).to.equal(201)
    expect((await create("k5", { id: "k5", text: "free" })).headers.get("idempotency-replayed")).to.equal("true")
    bench.clock.ahead += 24 * 3_600_000 + 1_000
    const late = await create("k5", { id: "k5b", text: "tomorrow" })
    expect(late.status).to.equal(201)
    expect((await create("k5", { id: "k5b", text: "tomorrow" })).headers.get("idempotency-replayed")).to.equal("true")
  })

  it("means nothing to an operation that only reads", async () => {
    const answer = await call(bench, "GET", "/v1/notes", { headers: { "idempotency-key": "not valid at all" } })
    expect(answer.status).to.equal(200)
  })
})
