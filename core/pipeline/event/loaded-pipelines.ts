// The pipelines in use, compiled and their verification prepared, by endpoint. A change drops one; the drop is confirmed
// when no event that was verified under the old revision is still uncommitted.

import type { AnyAuthMode, Verifier } from "../../contract/auth-mode.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Deps, TokenRecord } from "../../kernel/di.ts"
import { AppError } from "../../kernel/errors.ts"
import type { Logger } from "../../kernel/log.ts"
import type { Compilation } from "../engine.ts"
import type { Graph } from "../graph.ts"
import type { Program } from "../sandbox/sandbox.ts"
import type { PipelineSource, StoredPipeline } from "../source.ts"

/** A pipeline ready to take events. */
export interface LivePipeline {
  readonly stored: StoredPipeline
  readonly graph: Graph
  readonly program: Program
  readonly verifier: Verifier
  /** Events verified under this revision and not yet committed. */
  underWay: number
  /** Called when `underWay` falls to zero after the pipeline was dropped. */
  idle: (() => void) | undefined
  /** Resolves when it is, or is waited for no longer; set by the drop. */
  drained: Promise<void> | undefined
  /** Set when the drop waited no longer: what is still under way must not be committed. */
  ended: boolean
}

export interface LivePipelinesArgs {
  readonly source: () => PipelineSource
  readonly compile: (stored: StoredPipeline) => Promise<Compilation>
  readonly authMode: (name: string) => { mode: AnyAuthMode; deps: () => Deps<TokenRecord> } | undefined
  readonly forget: (pipelineId: string) => void
  readonly clock: Clock
  readonly log: Logger
  /** Milliseconds that a drop waits for events under way. */
  readonly drainMs: number
}

/** Unknown endpoints are remembered too, so that a scan of them costs no reads; bounded. */
const maxUnknown = 10_000
/** Pipelines without an endpoint, and earlier revisions that deferred work still runs. */
const maxOthers = 256

export class LivePipelines {
  readonly #args: LivePipelinesArgs
  readonly #byEndpoint = new Map<string, LivePipeline | null>()
  readonly #byId = new Map<string, LivePipeline>()
  /** By id and revision. */
  readonly #others = new Map<string, LivePipeline>()
  /** Dropped, with events still under way. */
  readonly #draining = new Set<LivePipeline>()
  readonly #loading = new Map<string, Promise<LivePipeline | null>>()
  /** Counts drops, so that a load that began before one is not kept. */
  #generation = 0

  constructor(args: LivePipelinesArgs) {
    this.#args = args
  }

  /** The pipeline of an endpoint; null when there is none. A promise while it is being loaded: ask again after it, since what it loaded may have changed meanwhile. */
  byEndpoint(endpointId: string): LivePipeline | null | Promise<LivePipeline | null> {
    const known = this.#byEndpoint.get(endpointId)
    return known === undefined ? this.#once(`endpoint ${endpointId}`, () => this.#loadEndpoint(endpointId)) : known
  }

  /** What is in memory, without loading anything. */
  known(endpointId: string): LivePipeline | null | undefined {
    return this.#byEndpoint.get(endpointId)
  }

  /** For events from inside the service, and for deferred work. */
  of(stored: StoredPipeline): Promise<LivePipeline | null> {
    const key = `${stored.id} ${stored.revision}`
    const current = this.#byId.get(stored.id)
    const known = current?.stored.revision === stored.revision ? current : this.#others.get(key)
    return known ? Promise.resolve(known) : this.#once(`id ${key}`, () => this.#loadOther(key, stored))
  }

  /** Lets go of a pipeline (of all, without an id) and waits for its events under way. */
  async drop(pipelineId: string | undefined): Promise<void> {
    this.#generation++
    for (const held of [this.#byId, this.#others]) {
      for (const [key, one] of held) {
        if (pipelineId !== undefined && one.stored.id !== pipelineId) continue
        held.delete(key)
        if (one.underWay > 0) this.#drain(one)
      }
    }
    for (const [endpoint, one] of this.#byEndpoint) {
      if (one === null || pipelineId === undefined || one.stored.id === pipelineId) this.#byEndpoint.delete(endpoint)
    }
    if (pipelineId !== undefined) this.#args.forget(pipelineId)
    // Also those of an earlier drop: on a cluster this node hears of its own change twice, and either may come first.
    const draining = [...this.#draining].filter((one) => pipelineId === undefined || one.stored.id === pipelineId)
    await Promise.all(draining.map((one) => one.drained))
  }

  async #prepare(stored: StoredPipeline): Promise<LivePipeline | null> {
    const { compile, authMode, log } = this.#args
    const compilation = await compile(stored)
    if (!compilation.ok) {
      log.error(
        { pipeline: stored.slug, organization: stored.organization.id, findings: compilation.findings },
        "a stored pipeline does not compile; it takes no events",
      )
      return null
    }
    const known = authMode(stored.document.auth_mode)
    if (!known) {
      log.error(
        { pipeline: stored.slug, auth_mode: stored.document.auth_mode },
        "no plugin provides this auth mode; the pipeline takes no events",
      )
      return null
    }
    const { secret: _, ...config } = stored.document.auth_config
    const verifier = known.mode.prepare({
      config: known.mode.config.parse(config),
      secrets: stored.secrets,
      pipeline: { id: stored.id, organization_id: stored.organization.id, owner_artifact_id: stored.document.owner_artifact_id },
      deps: known.deps(),
    })
    return {
      stored,
      graph: compilation.graph,
      program: compilation.program,
      verifier,
      underWay: 0,
      idle: undefined,
      drained: undefined,
      ended: false,
    }
  }

  async #loadEndpoint(endpointId: string): Promise<LivePipeline | null> {
    const generation = this.#generation
    const stored = await this.#args.source().byEndpoint(endpointId)
    const live = stored ? await this.#prepare(stored) : null
    if (generation !== this.#generation) return live
    if (this.#byEndpoint.size > maxUnknown + this.#byId.size) this.#forgetUnknown()
    this.#byEndpoint.set(endpointId, live)
    if (live) this.#byId.set(live.stored.id, live)
    return live
  }

  async #loadOther(key: string, stored: StoredPipeline): Promise<LivePipeline | null> {
    const generation = this.#generation
    const live = await this.#prepare(stored)
    if (!live || generation !== this.#generation) return live
    for (const oldest of this.#others.keys()) {
      if (this.#others.size < maxOthers) break
      if (this.#others.get(oldest)?.underWay === 0) this.#others.delete(oldest)
      else break
    }
    this.#others.set(key, live)
    return live
  }

  #forgetUnknown(): void {
    for (const [endpoint, live] of this.#byEndpoint) if (live === null) this.#byEndpoint.delete(endpoint)
  }

  #once(name: string, load: () => Promise<LivePipeline | null>): Promise<LivePipeline | null> {
    const key = `${name} ${this.#generation}`
    const loading = this.#loading.get(key)
    if (loading) return loading
    const started = load().finally(() => this.#loading.delete(key))
    this.#loading.set(key, started)
    return started
  }

  #drain(live: LivePipeline): void {
    this.#draining.add(live)
    live.drained = new Promise((resolve) => {
      const done = () => {
        this.#draining.delete(live)
        resolve()
      }
      const cancel = this.#args.clock.after(this.#args.drainMs, () => {
        live.ended = true
        done()
      })
      live.idle = () => {
        cancel()
        done()
      }
    })
  }
}

/** To be asked right before a commit. */
export function refuseEnded(live: LivePipeline): void {
  if (!live.ended) return
  throw new AppError("unavailable", "The pipeline was changed while the event was under way; send it again.", {
    reason: "pipeline_changed",
  })
}
