// Fills a store with an earlier version of the product, by the operations, webhooks and mails of that version, and packs it.
// Run it in a worktree of the version, with `node_modules` beside it:
//   node fill.js WORKTREE FOLDER [mongodb]
// It writes FOLDER/known.json and FOLDER/data.tar.br, and of MongoDB FOLDER/dump.json.br.
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { brotliCompressSync } from "node:zlib"
import { flowsOf } from "./flows.js"

const [tree = "", folder = "", store = "sqlite"] = process.argv.slice(2)
const from = (path) => import(join(tree, path))
process.chdir(tree)
const { testHost } = await from("core/testing.ts")
const { JobQueue, Store, UnitsOfWork } = await from("core/index.ts")
const { Collections } = await from("core/contract/collection.ts")
const { Jobs } = await from("core/contract/job.ts")
const { Organizations } = await from("plugins/platform/organizations/index.ts")

const { sharedMongo } = await from("test/mongodb-server.ts")
const url = store === "mongodb" ? (await sharedMongo()).freshUrl() : ""

const dataDir = mkdtempSync(join(tmpdir(), "millrace-filled-"))
const storage = url === "" ? {} : { MILLRACE_STORAGE_URL: url }
/** First job of each type: its id. It waits while the service runs. */
const parked = new Map()
const far = Date.now() + 300 * 86_400_000
let parks = false
let current

/** Starts the service on the same data. Stops the one before. */
async function start(options = {}) {
  await current?.stop()
  const env = { MILLRACE_LOG_LEVEL: "error", MILLRACE_JOBS_POLL_MS: "50", ...options.env, ...storage }
  return adopt(await testHost({ capture: false, ...options, dataDir, env }))
}

/** Parks the first job of each type from now on. */
function adopt(host) {
  const queue = host.get(JobQueue)
  const { enqueue } = queue
  queue.enqueue = (work, job, payload, given = {}) => {
    if (!parks || parked.has(job.type)) return enqueue.call(queue, work, job, payload, given)
    const id = enqueue.call(queue, work, job, payload, { ...given, runAt: far })
    parked.set(job.type, id)
    return id
  }
  current = host
  return host
}

async function end() {
  await current?.stop()
  current = undefined
}
Object.assign(start, { adopt, dataDir, end, env: { MILLRACE_LOG_LEVEL: "error", MILLRACE_JOBS_POLL_MS: "50", ...storage } })

for (const [name, flow] of Object.entries(flowsOf(from))) {
  parks = name !== "company"
  try {
    await flow(start)
    console.log(`filled by ${name}`)
  } catch (error) {
    console.log(`${name} failed: ${error.stack}`)
  }
}

const host = await start()
const documentStore = host.get(Store)
const specs = host.runtime.registry.items(Collections)
const organizations = []
for await (const { id } of host.get(Organizations).all()) organizations.push(id)
const jobs = documentStore.open(specs.find(({ name }) => name === "jobs"))

const types = [...host.runtime.registry.items(Jobs).map(({ type }) => type), "pipeline.deferred", "operation.approved"]
const chosen = {}
for (const type of new Set(types)) {
  const parkedJob = parked.has(type) ? await jobs.get(parked.get(type)) : undefined
  const job = parkedJob ?? (await jobs.first({ type, state: "queued" }))
  if (job) chosen[type] = job.id
}
// The chosen jobs are due. From now on the service commits nothing: no job is claimed.
const at = new Date(host.clock.now()).toISOString()
await host.get(UnitsOfWork).run((work) => {
  const staged = work.in(specs.find(({ name }) => name === "jobs"))
  for (const id of Object.values(chosen)) staged.update(id, { $set: { run_at: at } }, { optional: true })
  work.afterCommit(() => {
    documentStore.commit = () => Promise.reject(new Error("The store is full."))
  })
})
const documents = {}
for (const spec of specs) {
  documents[spec.name] = []
  const opened = spec.scope === "organization" ? organizations.map((id) => documentStore.open(spec, id)) : [documentStore.open(spec)]
  for (const collection of opened) for await (const { id } of collection.stream({})) documents[spec.name].push(id)
}
await host.stop().catch(() => undefined)

const counts = Object.fromEntries(Object.entries(documents).map(([name, ids]) => [name, ids.length]))
console.log(
  "empty collections:",
  Object.keys(counts)
    .filter((name) => counts[name] === 0)
    .join(" "),
)
console.log("types without a job:", types.filter((type) => chosen[type] === undefined).join(" "))
mkdirSync(folder, { recursive: true })
const { admin_key, organization } = JSON.parse(readFileSync(join(dataDir, "bootstrap.json"), "utf8"))
writeFileSync(
  join(folder, "known.json"),
  `${JSON.stringify({ at, admin_key, organization, organizations, jobs: chosen, counts }, null, 2)}\n`,
)
if (url !== "") {
  const { BSON, MongoClient } = await from("node_modules/mongodb/lib/index.js").then((module) => module.default ?? module)
  const client = await new MongoClient(url).connect()
  const dump = {}
  for (const { name } of await client.db().listCollections().toArray()) dump[name] = await client.db().collection(name).find().toArray()
  await client.close()
  writeFileSync(join(folder, "dump.json.br"), brotliCompressSync(BSON.EJSON.stringify(dump, { relaxed: false })))
}
const files = execFileSync("tar", ["-C", dataDir, "--exclude=*.lock", "--exclude=./chromium", "--sort=name", "-cf", "-", "."], {
  maxBuffer: 2 ** 28,
})
writeFileSync(join(folder, "data.tar.br"), brotliCompressSync(files))
rmSync(dataDir, { recursive: true, force: true })
process.exit(0)
