// The pipelines in use, compiled and their verification prepared, by endpoint. A change drops one; the drop is confirmed
// when no event that was verified under the old revision is still uncommitted.

import type { AnyAuthMode, Verifier } from "../../contract/auth-mode.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Deps, TokenRecord } from "../../kernel/di.ts"
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
}

export interface LivePipelinesArgs {
  readonly source: () => PipelineSource
  readonly compile: (document: unknown) => Promise<Compilation>
  readonly authMode: (name: string) => { mode: AnyAuthMode; deps: () => Deps<TokenRecord> } | undefined
  readonly forget: (pipelineId: string) => void
  readonly clock: Clock
  readonly log: Logger
  /** Milliseconds that a drop waits for events under way. */
  readonly drainMs: number
}

/** Unknown endpoints are remembered too, so that a scan of them costs no reads; bounded. */
const maxUnknown = 10_000

export class LivePipelines {
  readonly #args: LivePipelinesArgs
  readonly #byEndpoint = new Map<string, LivePipeline | null>()
  readonly #byId = new Map<string, LivePipeline>()
  readonly #loading = new Map<string, Promise<LivePipeline | null>>()
  /** Counts drops, so that a load that began before one is not kept. */
  #generation = 0

  constructor(args: LivePipelinesArgs) {
    this.#args = args
  }

  get size(): number {
    return this.#byId.size
  }

  /** The pipeline of an endpoint; null when there is none. A promise only the first time. */
  byEndpoint(endpointId: string): LivePipeline | null | Promise<LivePipeline | null> {
    const known = this.#byEndpoint.get(endpointId)
    return known === undefined ? this.#once(`endpoint ${endpointId}`, () => this.#loadEndpoint(endpointId)) : known
  }

  /** For events from inside the service, and for deferred work. */
  of(stored: StoredPipeline): Promise<LivePipeline | null> {
    const known = this.#byId.get(stored.id)
    if (known && known.stored.revision === stored.revision) return Promise.resolve(known)
    return this.#once(`id ${stored.id} ${stored.revision}`, () => this.prepare(stored))
  }

  /** Lets go of a pipeline (of all, without an id) and waits for its events under way. */
  async drop(pipelineId: string | undefined): Promise<void> {
    this.#generation++
    const dropped = pipelineId === undefined ? [...this.#byId.values()] : [this.#byId.get(pipelineId)].filter((one) => one !== undefined)
    for (const one of dropped) this.#byId.delete(one.stored.id)
    for (const [endpoint, one] of this.#byEndpoint) {
      if (one === null || pipelineId === undefined || one.stored.id === pipelineId) this.#byEndpoint.delete(endpoint)
    }
    if (pipelineId !== undefined) this.#args.forget(pipelineId)
    await Promise.all(dropped.map((one) => this.#drained(one)))
  }

  async prepare(stored: StoredPipeline): Promise<LivePipeline | null> {
    const { compile, authMode, log } = this.#args
    const compilation = await compile(stored.document)
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
    return { stored, graph: compilation.graph, program: compilation.program, verifier, underWay: 0, idle: undefined }
  }

  async #loadEndpoint(endpointId: string): Promise<LivePipeline | null> {
    const generation = this.#generation
    const stored = await this.#args.source().byEndpoint(endpointId)
    const live = stored ? await this.prepare(stored) : null
    if (generation !== this.#generation) return live
    if (this.#byEndpoint.size > maxUnknown + this.#byId.size) this.#forgetUnknown()
    this.#byEndpoint.set(endpointId, live)
    if (live) this.#byId.set(live.stored.id, live)
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

  #drained(live: LivePipeline): Promise<void> | void {
    if (live.underWay === 0) return
    return new Promise((resolve) => {
      const cancel = this.#args.clock.after(this.#args.drainMs, resolve)
      live.idle = () => {
        cancel()
        resolve()
      }
    })
  }
}
