// Sketches the events of this node in the background. Queued events are inspected in later event-loop turns, and sketches are
// written every few seconds. A crash loses the unwritten sketches.
import { Clock, type Deps, defineChannel, type Json, Live, Log, parsedJson, Store, type UnitOfWork, UnitsOfWork, Vault } from "#core"
import { type SettledEvent, SettledEvents, type StoredPipeline } from "#core/engine"
import { mayPassLater, mergeDocument } from "../merged-document.ts"
import { comparisonDigest, mergeSeen } from "./comparison.ts"
import { type Drift, driftOf } from "./findings.ts"
import { mergeSketches } from "./merge.ts"
import { type HashOf, hasher, observe } from "./observe.ts"
import { Sampler } from "./sampler.ts"
import { type DriftRecord, emptySketch, SchemaSketches, type Sketch } from "./sketch.ts"

export const schemaDriftChannel = defineChannel({
  name: "schema_drift",
  scope: "event_pipelines:read",
  summary: "Differences of a pipeline's events from its schema and from its events before, each when it is first found.",
})

const writtenEveryMs = 5_000
/** Bound of the queue. Further events are not inspected. */
const maxWaiting = 100
/** Bound on pipelines with unwritten sketches. */
const maxPending = 500

/** Bound on recorded announcements per pipeline. */
const maxTold = 500

/** Causes on the service's side. The sender repeats the event. */
const comesAgain: ReadonlySet<string> = new Set(["unavailable", "internal", "stopping"])

interface Waiting {
  readonly pipeline: StoredPipeline
  readonly body: string
  readonly at: string
  readonly execution: string
  readonly rejected: boolean
  readonly weight: number
}

interface Pending {
  pipeline: StoredPipeline
  readonly digest: string
  readonly hash: HashOf
  sketch: Sketch
}

export class Sketcher {
  static readonly inject = { store: Store, works: UnitsOfWork, clock: Clock, log: Log, settled: SettledEvents, live: Live, vault: Vault }
  readonly #deps: Deps<typeof Sketcher.inject>
  readonly #sampler: Sampler
  readonly #key: Buffer
  #waiting: Waiting[] = []
  #scheduled: NodeJS.Immediate | undefined
  /** Unwritten sketches by pipeline and digest. */
  readonly #pending = new Map<string, Pending>()
  #cancel: (() => void) | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor(deps: Deps<typeof Sketcher.inject>) {
    this.#deps = deps
    this.#sampler = new Sampler(deps.clock)
    this.#key = deps.vault.keyFor("schema-drift")
  }

  hashOf(pipelineId: string): HashOf {
    return hasher(this.#key, pipelineId)
  }

  /** Queues verified live events. Ignores tests, replays and repeats. Ignores rejections with a cause other than the event's shape. */
  observe({ entry, stored, visible, isTest, isReplay, isCounted, journalId }: SettledEvent): void {
    const { body } = visible
    if (isTest || isReplay || !isCounted || body === "" || entry.repeat_of !== null) return
    const rejected = entry.status === "rejected"
    if (rejected ? entry.cause !== "schema_mismatch" : entry.status === "failed" && comesAgain.has(entry.cause)) return
    const weight = this.#sampler.take(stored.id, body.length, rejected)
    if (weight === 0 || this.#waiting.length >= maxWaiting) return
    this.#waiting.push({ pipeline: stored, body, at: entry.received_at, execution: journalId, rejected, weight })
    this.#scheduled ??= setImmediate(() => this.#next())
  }

  /** Inspects the queued events, and writes this node's sketches. */
  flush(): Promise<void> {
    this.#deps.settled.flush()
    const flushed = this.#writing.then(() => {
      while (this.#waiting.length > 0) this.#look()
      return this.#write()
    })
    this.#writing = flushed.catch(() => undefined)
    return flushed
  }

  async stop(): Promise<void> {
    this.#cancel?.()
    if (this.#scheduled) clearImmediate(this.#scheduled)
    await this.flush()
  }

  /** Inspects one event per turn. */
  #next(): void {
    this.#scheduled = undefined
    this.#look()
    if (this.#waiting.length > 0) this.#scheduled = setImmediate(() => this.#next())
  }

  #look(): void {
    const one = this.#waiting.shift()
    const payload = one && (parsedJson(one.body) as Json | undefined)
    if (!one || payload === undefined || saysTest(payload)) return
    const { pipeline } = one
    const digest = comparisonDigest(pipeline.document)
    const key = `${pipeline.id} ${digest}`
    let pending = this.#pending.get(key)
    if (!pending) {
      if (this.#pending.size >= maxPending) return
      pending = { pipeline, digest, hash: this.hashOf(pipeline.id), sketch: emptySketch() }
      this.#pending.set(key, pending)
      this.#writeLater()
    }
    pending.pipeline = pipeline
    observe(pending.sketch, payload, one, pending.hash)
  }

  #writeLater(): void {
    this.#cancel ??= this.#deps.clock.after(writtenEveryMs, () => {
      this.#cancel = undefined
      this.flush().catch((error: unknown) => {
        this.#deps.log.warn({ err: error }, "sketches of events could not be written; retrying")
        this.#writeLater()
      })
    })
  }

  /** Drops a sketch that the storage refuses, because it would block the other pipelines. */
  async #write(): Promise<void> {
    for (const [key, pending] of this.#pending) {
      const written = pending.sketch
      pending.sketch = emptySketch()
      try {
        await this.#merge(pending, written)
      } catch (error) {
        if (mayPassLater(error)) {
          pending.sketch = mergeSketches(written, pending.sketch)
          throw error
        }
        this.#deps.log.error({ err: error, pipeline: pending.pipeline.id }, "the sketch of a pipeline's events was refused and is dropped")
      }
      if (pending.sketch.events === 0) this.#pending.delete(key)
    }
    if (this.#pending.size > 0) this.#writeLater()
  }

  async #merge({ pipeline, digest, hash }: Pending, sketch: Sketch): Promise<void> {
    if (sketch.events === 0) return
    const { vault, live } = this.#deps
    const seen = { digest, revision: pipeline.revision, key_id: vault.keyId, sketch }
    const at = { organization: pipeline.organization.id, id: pipeline.id }
    let fresh: Drift[] = []
    const merge = (stored: DriftRecord | undefined) => {
      fresh = []
      const merged = mergeSeen(stored, seen)
      if (merged.digest !== digest) return merged
      const found = driftOf({ schema: pipeline.document.request_schema as Json, ...merged, hash })
      fresh = found.filter(({ id }) => !merged.told.includes(id))
      return { ...merged, told: [...merged.told, ...fresh.map(({ id }) => id)].slice(-maxTold) }
    }
    await mergeDocument(this.#deps, SchemaSketches, at, merge, (work) => {
      for (const drift of fresh) stageDrift(live, work, pipeline, drift)
    })
  }
}

function saysTest(payload: Json): boolean {
  if (typeof payload !== "object" || payload === null || Array.isArray(payload)) return false
  return [true, "true", "1"].includes(payload["is_test"] as string)
}

function stageDrift(live: Live, work: UnitOfWork, { id, slug, organization }: StoredPipeline, drift: Drift): void {
  const { kind, path, since, events, rejected, message } = drift
  const data = { pipeline: slug, pipeline_id: id, id: drift.id, kind, path, since, events, rejected, message }
  live.stage(work, organization.id, { channel: "schema_drift", event: "drift", data })
}
