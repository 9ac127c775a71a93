// Large stored work: an archive with many waiting jobs, and the end of a retention, while the service serves others.
import { z } from "zod"
import { defineJob, definePlugin, Ids, JobQueue, Store, timestamp, UnitsOfWork } from "#core"
import { AuditLog } from "#core/engine"
import { type TestHost, testHost } from "#core/testing"
import { expectShortTurn, leastTurn, longestTurn, printLongestTurns, repeatedLongestTurn } from "../longest-turn.ts"
import { untilProcess as until } from "../waiting.ts"

const jobCount = 5_000
const recordCount = 20_000
const perCommit = 500

describe("large stored work", () => {
  let ran = 0
  const job = defineJob({
    type: "sample.count",
    summary: "Counts its runs.",
    payload: z.strictObject({ note: z.string() }),
    run: async () => void ran++,
  })
  const plugin = definePlugin({ id: "sample-counts", config: z.strictObject({}), register: (reg) => reg.jobs(job) })
  let host: TestHost
  before(async () => {
    host = await testHost({ plugins: [plugin] })
  })
  after(() => host.stop())

  it(`waits in an archive and runs after the restore in short turns: ${jobCount} jobs`, async () => {
    const { body } = await host.api<{ id: string; secret: string }>("POST", "/v1/organizations", { name: "Large", first_key: true })
    const { id: organization, secret: key } = body
    const post = (verb: "archive" | "restore") => host.api("POST", `/v1/organization/${verb}`, {}, { key })
    const turn = await repeatedLongestTurn(async () => {
      ran = 0
      await post("archive")
      for (let first = 0; first < jobCount; first += perCommit)
        await host.get(UnitsOfWork).run((work) => {
          for (let n = 0; n < perCommit; n++) host.get(JobQueue).enqueue(work, job, { note: "waits ".repeat(100) }, { organization })
        })
      await post("restore")
      await until("all jobs", () => ran === jobCount)
    })
    printLongestTurns([{ what: "jobs of an archive", ...turn }])
    expectShortTurn(turn.milliseconds, `${jobCount} jobs of an archive`)
  })

  it(`ends a retention in short turns: ${recordCount} records`, async () => {
    const organization = host.organization.id
    const changes = { text: "old ".repeat(250) }
    const actor = { credential_id: "old", user_id: null, surface: "rest" } as const
    const fill = async () => {
      const expires_at = timestamp(host.clock.now() + 86_400_000)
      for (let first = 0; first < recordCount; first += perCommit)
        await host.get(UnitsOfWork).run((work) => {
          for (let n = 0; n < perCommit; n++) {
            const record = { at: expires_at, actor, operation: "sample.old", target: {}, changes, request_id: "old", expires_at }
            work.in(AuditLog, organization).insert({ id: host.get(Ids).uuid(), ...record })
          }
        })
    }
    const records = host.get(Store).open(AuditLog, organization)
    const turn = await leastTurn(async () => {
      await fill()
      return await longestTurn(async () => {
        await host.clock.move(2 * 86_400_000)
        await until("no record", async () => (await records.count({ operation: "sample.old" }, { limit: 1 })) === 0)
      })
    })
    printLongestTurns([{ what: "end of a retention", ...turn }])
    expectShortTurn(turn.milliseconds, `${recordCount} records of a retention`)
  })
})
