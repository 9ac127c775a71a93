// Stores filled by commit 0541a61e, in filled/: every area, and a pending job of each type. The current service opens each store,
// is killed five times, and finishes the work. filled/fill.js filled them.
import { expect } from "chai"
import { JobQueue, Store, UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { JobCollection, type JobDocument } from "../../core/jobs/jobs-collection.ts"
import { freshFolder, startService } from "../crash/service-process.ts"
import { mongoAvailable, sharedMongo } from "../mongodb-server.ts"
import { ShiftedClock } from "../shifted-clock.ts"
import { untilProcess as until } from "../waiting.ts"
import { type Contents, collectionsOf, contentsOf, knownOf, moved, restore } from "./filled/restored.ts"

const kills = 5
/** Jobs of a killed node are postponed by less. */
const soonMs = 10_000
/** From the start until the first kill. Each later kill is later by the same time. */
const killAfterMs = 200

/** Job types that fail for a reason of the fixture: its servers, its models and some of its documents are gone. */
const failing: Readonly<Record<string, RegExp>> = {
  "pipeline.deferred": /ENOTFOUND|EAI_AGAIN/,
  "conversations.templates": /ENOTFOUND|EAI_AGAIN/,
  "integrations.end_broker_connection": /no connection broker/,
  "experiments.allocate": /has no experiment/,
  "experiments.record_live": /has no experiment/,
  "experiments.panel_cell": /language model/,
  "experiments.panel_end": /language model/,
  "experiments.tournament": /language model/,
}

const sessionEnd = "page_events.session_end"
/** Job types that wait again: for an approval, an idle person, a stored file or the end of a visit. */
const waitingAgain = ["conversations.close", "event_files.remove", "operation.approved", sessionEnd, "voice.register_caller_name"]

/** Collections of a running service: leases, cursors and derived documents. */
const ofService = new Set([
  ..."leases nodes live_messages live_nodes live_outboxes changes clock_marks clock_set_backs bucket_folders jobs lead_handovers".split(
    " ",
  ),
  ..."event_indexes event_index_parts event_minutes knowledge_indexes knowledge_segments knowledge_removals".split(" "),
  ..."page_analytics_copies page_analytics_notes page_analytics_sealing page_analytics_segments".split(" "),
  // A challenge lasts five minutes. The database removes it by its own clock.
  "passkey_challenges",
])

/** Documents that the pending jobs remove and add, by collection. */
const effects: Readonly<Record<string, { readonly gone: number; readonly more: number }>> = {
  chatapp_conversations: { gone: 1, more: 0 },
  chatapp_messages: { gone: 1, more: 50 },
  dataset_rows: { gone: 0, more: 2 },
  email_conversations: { gone: 0, more: 2 },
  email_messages: { gone: 0, more: 2 },
  eval_answers: { gone: 0, more: 2 },
  executions: { gone: 0, more: 2 },
  experiment_observations: { gone: 0, more: 1 },
  knowledge_files: { gone: 1, more: 0 },
  knowledge_uploads: { gone: 1, more: 0 },
  lead_followed_datasets: { gone: 0, more: 1 },
  lead_identities: { gone: 0, more: 1 },
  leads: { gone: 0, more: 1 },
  replay_plan_events: { gone: 0, more: 1 },
  sent_mails: { gone: 0, more: 2 },
}

/** The same for a session that ends. */
const effectsOfEnd: typeof effects = {
  dataset_rows: { gone: 0, more: 3 },
  page_ended_sessions: { gone: 0, more: 1 },
  page_sessions: { gone: 1, more: 0 },
}

/** Lists of the API: the path, the collection, and the field of the answer. */
const lists: readonly (readonly [path: string, collection: string, field: string])[] = [
  ["agents", "agents", "agents"],
  ["approvals", "approval_requests", "approvals"],
  ["datasets", "datasets", "datasets"],
  ["email-conversations", "email_conversations", "conversations"],
  ["evals/suites", "eval_suites", "suites"],
  ["event-pipelines", "event_pipelines", "event_pipelines"],
  ["experiments", "page_experiments", "experiments"],
  ["heartbeats", "heartbeats", "heartbeats"],
  ["knowledge", "knowledge_items", "items"],
  ["pages", "pages", "pages"],
  ["suppressions", "suppressions", "suppressions"],
  ["threads", "threads", "threads"],
  ["workstreams", "workstreams", "workstreams"],
]

for (const kind of ["sqlite", "mongodb"] as const) {
  const run = kind === "mongodb" && !mongoAvailable ? describe.skip : describe
  run(`a store that an earlier commit filled (${kind})`, () => {
    const example = knownOf(kind)
    // Times in milliseconds do not move with a database, so the fixture's session has ended there, with a row.
    const hasEnded = kind === "mongodb"
    const folder = freshFolder()
    const idsByCollection = new Map<string, readonly string[]>()
    /** Id of the pending job of each type. */
    let jobs: Readonly<Record<string, string>>
    let filled: Contents
    let ended: Contents

    before(async () => {
      const specs = await collectionsOf()
      const url = kind === "mongodb" ? (await sharedMongo()).freshUrl() : undefined
      // The file keeps its times, and the service runs at that time. A database is moved to the present, since its clock expires
      // documents.
      const offsetMs = Date.parse(example.at) - Date.now()
      const env = { MILLRACE_LOG_LEVEL: "error", ...(url === undefined ? {} : { MILLRACE_STORAGE_URL: url }) }
      await restore(kind, folder.path, url, -offsetMs)
      // Some ids end with a time.
      jobs = JSON.parse(moved(JSON.stringify(example.jobs), url === undefined ? 0 : -offsetMs)) as Record<string, string>
      // The purge of a raw message comes hours after the message.
      const purge = jobs["inbound_mail.purge"] ?? ""
      const present = Date.now() + (url === undefined ? offsetMs : 0)
      filled = await contentsOf(specs, folder.path, url, { id: purge, run_at: new Date(present + 7_200_000).toISOString() })
      await killed(env, url === undefined ? offsetMs : 0)
      const clock = new ShiftedClock()
      clock.ahead = url === undefined ? offsetMs : 0
      const host = await testHost({ dataDir: folder.path, env: { MILLRACE_JOBS_POLL_MS: "50", ...env }, clock, capture: false })
      try {
        const ending = Object.entries(jobs).flatMap(([type, id]) => (type in failing || waitingAgain.includes(type) ? [] : [id]))
        await until("the pending jobs", () => isSettled(host, clock, new Set(ending.filter((id) => id !== purge))))
        await host.get(UnitsOfWork).run((work) => host.get(JobQueue).hasten(work, purge))
        await until("the purge", () => isSettled(host, clock, new Set(ending)))
        for (const [path, collection, field] of lists) idsByCollection.set(collection, await idsOf(host, path, field))
      } finally {
        await host.stop()
      }
      ended = await contentsOf(specs, folder.path, url)
    })
    after(() => folder.remove())

    it("has documents in most collections, and a pending job of each type", () => {
      const used = [...filled.ids.values()].filter(({ size }) => size > 0)
      expect(used.length).to.be.greaterThan(125)
      const types = Object.entries(jobs).filter(([type, id]) => filled.jobs.get(id)?.type === type)
      expect(types.length).to.equal(Object.keys(example.jobs).length)
      expect(types.length).to.be.greaterThan(50)
    })

    for (const type of Object.keys(example.jobs).sort()) {
      it(`ends the pending job ${type}`, () => {
        const job = ended.jobs.get(jobs[type] ?? "")
        const reason = failing[type]
        if (reason) expect(job?.last_error).to.match(reason)
        else if (waitingAgain.includes(type) && !(hasEnded && type === sessionEnd))
          expect(Date.parse(job?.run_at ?? "")).to.be.greaterThan(Date.parse(filled.jobs.get(job?.id ?? "")?.run_at ?? ""))
        else expect(job?.last_error, JSON.stringify(job)).to.equal(undefined)
      })
    }

    it("loses and doubles nothing", () => {
      const problems = [...filled.ids].flatMap(([collection, ids]) => {
        if (ofService.has(collection)) return []
        const now = ended.ids.get(collection) ?? new Set()
        const [missingCount, more] = [[...ids].filter((id) => !now.has(id)).length, [...now].filter((id) => !ids.has(id)).length]
        return missingCount === 0 && more === 0 ? [] : [[collection, { gone: missingCount, more }] as const]
      })
      expect(Object.fromEntries(problems)).to.deep.equal(hasEnded ? { ...effects, ...effectsOfEnd } : effects)
    })

    it("lists what was there", () => {
      for (const [, collection] of lists) {
        const own = [...(ended.ids.get(collection) ?? [])].filter((id) => id.startsWith(example.organization.id))
        expect(own.length, collection).to.be.greaterThan(0)
        expect(idsByCollection.get(collection)?.toSorted(), collection).to.deep.equal(own.map((id) => id.split(" ")[1]).sort())
      }
    })

    /** Starts the service and kills it, five times, each time later. */
    async function killed(env: Readonly<Record<string, string>>, offsetMs: number): Promise<void> {
      const faults = [new URL("./filled/shifted-date.ts", import.meta.url).href]
      for (let kill = 1; kill <= kills; kill++) {
        const options = { dataDir: folder.path, env: { MILLRACE_TEST_OFFSET_MS: String(offsetMs), ...env }, faults }
        const service = await startService(options)
        await new Promise((resolve) => setTimeout(resolve, kill * killAfterMs))
        await service.kill()
      }
    }
  })
}

/** Returns true if no job is in progress or due soon, and the pending jobs have ended. A retry of another job may take hours. */
async function isSettled(host: TestHost, clock: ShiftedClock, pending: ReadonlySet<string>): Promise<boolean> {
  const queued = await host.get(Store).open(JobCollection).find({ state: "queued" })
  const soon = new Date(clock.now() + soonMs).toISOString()
  const isOpen = ({ id, run_at, held_by, last_error }: JobDocument) =>
    pending.has(id) || (last_error === null && (held_by !== "" || run_at <= soon))
  return !queued.some(isOpen)
}

/** Ids of a list of one page. */
async function idsOf(host: TestHost, path: string, field: string): Promise<string[]> {
  const { status, body } = await host.api<Record<string, Record<string, string>[]>>("GET", `/v1/${path}?limit=200`)
  expect(status, JSON.stringify(body)).to.equal(200)
  return (body[field] ?? []).map((item) => item["id"] ?? JSON.stringify(item))
}
