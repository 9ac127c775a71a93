// The durable queue alone: execution, retries, and the effect of stops.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { z } from "zod"
import { AppError, defineJob, definePlugin, JobQueue, type Json, Postponed, Store, timestamp, UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { backoff } from "../../core/jobs/attempt.ts"
import { JobCollection } from "../../core/jobs/jobs-collection.ts"
import { until } from "../waiting.ts"

const retry = { max_attempts: 3, initial_delay_ms: 5, factor: 2, max_delay_ms: 20 }

describe("the job queue", () => {
  const ran: { payload: Json; attempt: number; last: boolean }[] = []
  const exhausted: Json[] = []
  let behave: (payload: Json, attempt: number) => Promise<void> | void = () => {}
  /** Called after a job's end is on disk, before the queue's memory is updated. */
  let atEnd: (payload: Json) => Promise<unknown> | undefined = () => undefined
  const job = defineJob({
    type: "test.job",
    summary: "A job of the test.",
    payload: z.json(),
    retry,
    timeoutMs: 10_000,
    async run({ payload, attempt, last, work }) {
      ran.push({ payload, attempt, last })
      work.afterCommit(async () => void (await atEnd(payload)))
      await behave(payload, attempt)
    },
    exhausted: ({ payload }) => void exhausted.push(payload),
  })
  const plugin = definePlugin({ id: "test-jobs", config: z.strictObject({}), register: (registrar) => registrar.jobs(job) })
  let dataDir: string
  let host: TestHost
  const boot = () =>
    testHost({
      dataDir,
      plugins: [plugin as never],
      env: { MILLRACE_JOBS_POLL_MS: "20", MILLRACE_JOBS_CONCURRENCY: "2", MILLRACE_SERVER_DRAIN_MS: "600000" },
    })
  before(async () => {
    dataDir = mkdtempSync(join(tmpdir(), "millrace-jobs-"))
    host = await boot()
  })
  beforeEach(() => {
    ran.splice(0)
    exhausted.splice(0)
    behave = () => {}
  })
  after(async () => {
    await host.stop()
    rmSync(dataDir, { recursive: true, force: true })
  })
  const enqueue = (payload: Json, options = {}) =>
    host.get(UnitsOfWork).run((work) => host.get(JobQueue).enqueue(work, job, payload, options))
  const jobs = () => host.get(Store).open(JobCollection).find({})

  it("runs a job once its commit is on disk, and never when the commit fails", async () => {
    await enqueue("a")
    await until(async () => ran.length === 1 && (await jobs()).length === 0)
    const failing = host.get(UnitsOfWork).run((work) => {
      host.get(JobQueue).enqueue(work, job, "never")
      work.in(JobCollection).remove("not-there")
    })
    expect(
      await failing.then(
        () => "done",
        (error: AppError) => error.code,
      ),
    ).to.equal("not_found")
    await enqueue("b")
    await until(() => ran.length === 2)
    expect(ran.map(({ payload }) => payload)).to.deep.equal(["a", "b"])
  })

  it("takes a job staged twice under one id as one", async () => {
    await enqueue("same", { id: "01900000-0000-7000-8000-00000000000a", runAt: Date.now() + 60_000 })
    await enqueue("same", { id: "01900000-0000-7000-8000-00000000000a", runAt: Date.now() + 60_000 })
    expect(await jobs()).to.have.length(1)
    await host.get(UnitsOfWork).run((work) => work.in(JobCollection).remove("01900000-0000-7000-8000-00000000000a"))
    expect(ran).to.have.length(0)
  })

  it("runs a job at once that is staged again while one of its id ends", async () => {
    const again = { id: "01900000-0000-7000-8000-00000000000b" }
    atEnd = (payload) => (payload === "first" ? enqueue("second", again) : undefined)
    try {
      await enqueue("first", again)
      await until("both", () => ran.length === 2)
      await until("both having ended", async () => (await jobs()).length === 0)
    } finally {
      atEnd = () => undefined
    }
    expect(ran.map(({ payload }) => payload)).to.deep.equal(["first", "second"])
  })

  it("waits until a job is due", async () => {
    const due = Date.now() + 150
    await enqueue("later", { runAt: due })
    await until(() => ran.length === 1)
    expect(Date.now()).to.be.at.least(due)
  })

  it("tries again up to the last try, then keeps it as dead and says so once; revived, it starts over", async () => {
    behave = () => {
      throw new Error("down")
    }
    const id = await enqueue("broken")
    await until(async () => (await jobs())[0]?.state === "dead")
    expect(ran.map(({ attempt, last }) => [attempt, last])).to.deep.equal([
      [1, false],
      [2, false],
      [3, true],
    ])
    expect(exhausted).to.deep.equal(["broken"])
    expect((await jobs())[0]?.last_error).to.equal("down")
    behave = () => {}
    await host.get(UnitsOfWork).run((work) => host.get(JobQueue).revive(work, id))
    await until(async () => (await jobs()).length === 0)
    expect(ran.at(-1)).to.include({ attempt: 1 })
    const revival = host.get(UnitsOfWork).run((work) => host.get(JobQueue).revive(work, id))
    expect(
      await revival.then(
        () => "done",
        (error: AppError) => error.code,
      ),
    ).to.equal("not_found")
  })

  it("counts no try of a job that could not try anything yet", async () => {
    behave = () => {
      if (ran.length <= 5) throw new AppError("unavailable", "full", { reason: "no_descriptors" }, { notTried: true, retryAfterS: 0.01 })
    }
    await enqueue("held back")
    await until("the sixth run", () => ran.length === 6)
    expect(ran.map(({ attempt }) => attempt)).to.deep.equal([1, 1, 1, 1, 1, 1])
    await until("the job being done", async () => (await jobs()).length === 0)
    expect(exhausted).to.deep.equal([])
  })

  it("counts a try for each further node that ends while it has the job, after three that may", async () => {
    behave = async () => {
      const id = (await jobs())[0]?.id ?? ""
      const $set = { held_by: "a node that ended", run_at: new Date(0).toISOString() }
      await host.get(UnitsOfWork).run((work) => work.in(JobCollection).update(id, { $set }))
      throw new Postponed(1)
    }
    const id = await enqueue("deadly")
    const dead = await until("its being dead", async () => (await jobs()).find(({ state }) => state === "dead"))
    expect(ran.map(({ attempt }) => attempt)).to.deep.equal([1, 1, 1, 1, 2, 3])
    expect(dead).to.include({ attempts: 3, last_error: "The nodes that ran it ended 6 times in a row; it is not retried by itself." })
    expect(exhausted).to.deep.equal(["deadly"])
    behave = () => {}
    await host.get(UnitsOfWork).run((work) => host.get(JobQueue).revive(work, id))
    await until("its being done", async () => (await jobs()).length === 0)
    expect(ran.at(-1)).to.include({ attempt: 1 })
  })

  it("takes the jobs of the process before at its start, but waits with one that may be what ends processes", async () => {
    const enqueueLeftover = async (id: string, takeovers?: number) => {
      await enqueue(id, { id, runAt: host.clock.now() + 86_400_000 })
      const lease = { held_by: "the process before", run_at: timestamp(host.clock.now() + 60_000), ...(takeovers && { takeovers }) }
      await host.get(UnitsOfWork).run((work) => work.in(JobCollection).update(id, { $set: lease }))
    }
    for (const id of ["first", "second"]) await enqueueLeftover(id)
    await enqueueLeftover("once more", 1)
    await enqueueLeftover("suspect", 2)
    await enqueue("later", { id: "later", runAt: host.clock.now() + 30_000 })
    await host.stop()
    host = await boot()
    await until("three runs", () => ran.length === 3)
    await until("their ends", async () => (await jobs()).length === 2)
    expect(ran.map(({ payload }) => payload)).to.have.members(["first", "second", "once more"])
    expect((await jobs()).map(({ id }) => id)).to.have.members(["suspect", "later"])
    host.clock.move(60_001)
    await until("all runs", async () => (await jobs()).length === 0)
    expect(ran).to.have.length(5)
  })

  it("forgets those nodes once a try has ended", async () => {
    let lost = 0
    behave = async () => {
      const id = (await jobs())[0]?.id ?? ""
      if (ran.length === 4) throw new Error("down")
      if (++lost > 6) return
      const $set = { held_by: "a node that ended", run_at: new Date(0).toISOString() }
      await host.get(UnitsOfWork).run((work) => work.in(JobCollection).update(id, { $set }))
      throw new Postponed(1)
    }
    await enqueue("unlucky")
    await until("its being done", async () => ran.length > 0 && (await jobs()).length === 0)
    expect(ran.map(({ attempt }) => attempt)).to.deep.equal([1, 1, 1, 1, 2, 2, 2, 2])
    expect(exhausted).to.deep.equal([])
  })

  it("runs again at once what was hastened while it ran, and was postponed then", async () => {
    const queue = host.get(JobQueue)
    const id = "01900000-0000-7000-8000-00000000000b"
    behave = async () => {
      if (ran.length > 1) return
      await host.get(UnitsOfWork).run((work) => queue.hasten(work, id))
      throw new Postponed(86_400_000)
    }
    await enqueue("hastened", { id })
    await until("the second run", () => ran.length === 2)
    await until("its end", async () => (await jobs()).length === 0)
  })

  it("ends at once what cannot get better", async () => {
    behave = () => {
      throw new AppError("failed_precondition", "never", { reason: "job_failed", retryable: false })
    }
    const id = await enqueue("hopeless")
    await until(async () => (await jobs())[0]?.state === "dead")
    expect(ran).to.have.length(1)
    await host.get(UnitsOfWork).run((work) => work.in(JobCollection).remove(id))
  })

  it("runs no more at once than it may, and all in the end", async () => {
    let under = 0
    let most = 0
    behave = async () => {
      most = Math.max(most, ++under)
      await new Promise((resolve) => setTimeout(resolve, 2))
      under--
    }
    await Promise.all(Array.from({ length: 60 }, (_, n) => enqueue(n)))
    await until(async () => ran.length === 60 && (await jobs()).length === 0)
    expect(most).to.equal(2)
    expect(new Set(ran.map(({ payload }) => payload)).size).to.equal(60)
  })

  it("keeps what waits over a stop, and runs it at the next start", async () => {
    let letGo: () => void = () => {}
    const gate = new Promise<void>((resolve) => {
      letGo = resolve
    })
    behave = () => gate
    for (let n = 0; n < 5; n++) await enqueue(n)
    await until(() => ran.length === 2)
    const stopping = host.stop()
    await until("what waits being given back", async () => (await jobs()).filter(({ held_by }) => held_by === "").length === 3)
    letGo()
    await stopping
    expect(ran).to.have.length(2)
    host = await boot()
    await until(async () => ran.length === 5 && (await jobs()).length === 0)
    expect(ran.map(({ payload }) => payload).sort()).to.deep.equal([0, 1, 2, 3, 4])
  })

  it("backs off with full jitter, up to the longest wait", () => {
    const policy = { max_attempts: 9, initial_delay_ms: 100, factor: 2, max_delay_ms: 1_000 }
    expect([1, 2, 3, 4, 5, 60].map((attempt) => backoff(policy, attempt, () => 1))).to.deep.equal([100, 200, 400, 800, 1_000, 1_000])
    expect(backoff(policy, 5, () => 0)).to.equal(0)
  })

  describe("behind a backlog", () => {
    const running: string[] = []
    const finished: string[] = []
    let hang: (payload: string) => Promise<void> | void = () => {}
    const types = ["test.fair", "test.other", "test.narrow", "test.limited"].map((type) =>
      defineJob({
        type,
        ...(type === "test.narrow" ? { slots: 2, reservedSlots: 1 } : {}),
        ...(type === "test.limited" ? { limitsKeys: true } : {}),
        summary: "A job of the test.",
        payload: z.string(),
        retry: { max_attempts: 3, initial_delay_ms: 1, factor: 1, max_delay_ms: 1 },
        async run({ payload, attempt }) {
          running.push(payload)
          if (payload === "twice" && attempt === 1) throw new Error("not yet")
          await hang(payload)
          finished.push(payload)
        },
      }),
    )
    type JobOfTest = (typeof types)[0]
    const [fair, other, narrow, limited] = types as [JobOfTest, JobOfTest, JobOfTest, JobOfTest]
    const jobPlugin = definePlugin({
      id: "test-fair",
      config: z.strictObject({}),
      register: (registrar) => registrar.jobs(fair, other, narrow, limited),
    })
    // Practically never: finished jobs need no poll.
    const env = { MILLRACE_JOBS_POLL_MS: "3600000", MILLRACE_JOBS_CONCURRENCY: "4" }
    let busy: TestHost
    let letGo: () => void = () => {}
    before(async () => {
      busy = await testHost({ plugins: [jobPlugin as never], env })
    })
    beforeEach(() => {
      for (const list of [running, finished]) list.splice(0)
      const gate = new Promise<void>((resolve) => {
        letGo = resolve
      })
      hang = (payload) => (payload.startsWith("hangs") ? gate : undefined)
    })
    afterEach(async () => {
      letGo()
      await until(async () => (await busy.get(Store).open(JobCollection).count({ state: "queued" })) === 0)
    })
    after(() => busy.stop())
    const put = (
      payload: string,
      organization: string,
      { job: which = fair, key = "", ...more }: { job?: typeof fair; key?: string; runAt?: number } = {},
    ) => busy.get(UnitsOfWork).run((work) => busy.get(JobQueue).enqueue(work, which, payload, { organization, key, ...more }))
    const flood = (count: number, organization: string, payload = "hangs", key = "") =>
      Promise.all(Array.from({ length: count }, (_, n) => put(`${payload} ${organization} ${n}`, organization, { key })))

    it("takes up what waits as soon as there is room", async () => {
      await flood(400, "alpha")
      letGo()
      await until(() => finished.length === 400)
    })

    it("runs another organization's job at once", async () => {
      await flood(200, "alpha")
      await put("innocent", "bravo")
      await until(() => finished.includes("innocent"))
      expect(finished).to.deep.equal(["innocent"])
      letGo()
      await until(() => finished.length === 201)
    })

    it("claims no more for an organization than its share, from what another node left", async () => {
      const run_at = new Date(0).toISOString()
      await busy.get(UnitsOfWork).run((work) => {
        for (let n = 0; n < 300; n++) {
          const id = busy.get(JobQueue).enqueue(work, fair, `hangs left ${n}`, { organization: "alpha", runAt: Date.now() + 3_600_000 })
          work.in(JobCollection).update(id, { $set: { run_at } })
        }
      })
      await put("wakes the poll", "charlie", { runAt: Date.now() + 50 })
      await until(() => running.filter((payload) => payload.startsWith("hangs")).length >= 3)
      await put("innocent", "bravo")
      await until(() => finished.includes("innocent") && finished.includes("wakes the poll"))
      expect(finished.some((payload) => payload.startsWith("hangs"))).to.equal(false)
      letGo()
      await until(() => finished.length === 302)
    })

    it("lets a pipeline's jobs pass between those of another of the same organization", async () => {
      await flood(100, "alpha", "hangs", "flooding")
      await flood(3, "alpha", "small", "quiet")
      letGo()
      await until(() => finished.length === 103)
      const last = Math.max(...[0, 1, 2].map((n) => finished.indexOf(`small alpha ${n}`)))
      expect(last).to.be.below(60)
    })

    it("runs jobs of another type in slots of their own", async () => {
      await flood(200, "alpha")
      await put("mail", "alpha", { job: other })
      await until(() => finished.includes("mail"))
      expect(finished).to.deep.equal(["mail"])
    })

    it("keeps as many slots as a type of job reserves for organizations that hold none", async () => {
      for (const payload of ["hangs 1", "hangs 2", "hangs 3"]) await put(payload, "alpha", { job: narrow })
      await put("innocent", "bravo", { job: narrow })
      await until(() => finished.includes("innocent"))
      expect([running.filter((payload) => payload.startsWith("hangs")), finished]).to.deep.equal([["hangs 1"], ["innocent"]])
      letGo()
      await until(() => finished.length === 4)
    })

    it("leaves slots to other keys of an organization while jobs of one key hang", async () => {
      for (let n = 0; n < 200; n++) await put(`hangs ${n}`, "alpha", { job: limited, key: "silent" })
      await put("innocent", "alpha", { job: limited, key: "quick" })
      await until(() => finished.includes("innocent"))
      expect(finished).to.deep.equal(["innocent"])
      letGo()
      await until(() => finished.length === 201)
    })

    it("tries a job again on time", async () => {
      await flood(200, "alpha")
      await put("twice", "bravo")
      await until(() => finished.includes("twice"))
      expect(finished).to.deep.equal(["twice"])
      expect(running.filter((payload) => payload === "twice").length).to.equal(2)
    })
  })
})
