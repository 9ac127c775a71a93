// Caches pipelines in use by endpoint, compiled and with a prepared verifier. A change drops a pipeline. The drop completes after
// the commit of all events verified under the old revision.
import type { AnyAuthMode, Verifier } from "../../contract/auth-mode.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Deps, TokenRecord } from "../../kernel/di.ts"
import { AppError } from "../../kernel/errors.ts"
import type { Logger } from "../../kernel/log.ts"
import { allDone } from "../../kernel/promises.ts"
import type { PipelineDocument } from "../document.ts"
import type { Compilation } from "../engine.ts"
import type { Graph } from "../graph.ts"
import type { Intake } from "../intake.ts"
import type { Program } from "../sandbox/sandbox.ts"
import type { PipelineSource, StoredPipeline } from "../source.ts"

/** A pipeline ready for events. */
export interface LoadedPipeline {
  readonly stored: StoredPipeline
  readonly graph: Graph
  readonly program: Program
  readonly verifier: Verifier
  /** The plugin that processes the pipeline's requests itself, if any. */
  readonly intake: Intake | undefined
  /** Events verified under this revision and not yet committed. */
  inFlight: number
  /** Called when `inFlight` falls to zero after a drop. */
  idle: (() => void) | undefined
  /** Resolves when the pipeline is idle or the wait is over. Set by the drop. */
  drained: Promise<void> | undefined
  /** True after the wait of the drop is over. Events still in flight must not be committed. */
  ended: boolean
}

export interface LoadedPipelinesArgs {
  readonly source: () => PipelineSource
  readonly compile: (stored: StoredPipeline) => Promise<Compilation>
  readonly authMode: (name: string) => { mode: AnyAuthMode; deps: () => Deps<TokenRecord> } | undefined
  readonly intakeOf: (purpose: PipelineDocument["purpose"]) => Intake | undefined
  readonly forget: (pipelineId: string) => void
  readonly clock: Clock
  readonly log: Logger
  /** Milliseconds that a drop waits for events in flight. */
  readonly drainMs: number
}

/** Caches unknown endpoints up to this bound, so a scan of endpoints costs no reads. */
const maxUnknown = 10_000
/** Maximum cached pipelines without an endpoint, or at earlier revisions for deferred work. */
const maxOthers = 256

export class LoadedPipelines {
  readonly #args: LoadedPipelinesArgs
  readonly #byEndpoint = new Map<string, LoadedPipeline | null>()
  readonly #byId = new Map<string, LoadedPipeline>()
  /** Key: id and revision. */
  readonly #others = new Map<string, LoadedPipeline>()
  /** Dropped pipelines with events in progress. */
  readonly #draining = new Set<LoadedPipeline>()
  readonly #loading = new Map<string, Promise<LoadedPipeline | null>>()
  /** Counts drops. A load from before a drop is not cached. */
  #generation = 0

  constructor(args: LoadedPipelinesArgs) {
    this.#args = args
  }

  /**
   * Returns the pipeline of an endpoint, or null if there is none. During a load it returns a promise. Call again after the
   * promise, because the pipeline may have changed meanwhile.
   */
  byEndpoint(endpointId: string): LoadedPipeline | null | Promise<LoadedPipeline | null> {
    const known = this.#byEndpoint.get(endpointId)
    return known === undefined ? this.#once(`endpoint ${endpointId}`, () => this.#loadEndpoint(endpointId)) : known
  }

  /** Returns the cached pipeline without a load. */
  known(endpointId: string): LoadedPipeline | null | undefined {
    return this.#byEndpoint.get(endpointId)
  }

  /** Returns the pipeline for an internal event. Throws `failed_precondition` if it does not compile. */
  async require(stored: StoredPipeline): Promise<LoadedPipeline> {
    const loaded = await this.of(stored)
    if (loaded) return loaded
    throw new AppError("failed_precondition", `The pipeline "${stored.slug}" does not compile with the plugins that are loaded.`, {
      reason: "no_longer_compiles",
    })
  }

  /** Returns the pipeline for internal events and deferred work. */
  of(stored: StoredPipeline): Promise<LoadedPipeline | null> {
    const key = `${stored.id} ${stored.revision}`
    const current = this.#byId.get(stored.id)
    const known = current?.stored.revision === stored.revision ? current : this.#others.get(key)
    return known ? Promise.resolve(known) : this.#once(`id ${key}`, () => this.#loadOther(key, stored))
  }

  /** Drops a pipeline (without an id, all pipelines) and waits for its events in flight. */
  async drop(pipelineId: string | undefined): Promise<void> {
    const dropped = this.#drop(({ id }) => pipelineId === undefined || id === pipelineId)
    if (pipelineId !== undefined) this.#args.forget(pipelineId)
    await dropped
  }

  /** Drops the pipelines of an organization and waits for their events in flight. */
  async dropOf(organization: string): Promise<void> {
    await this.#drop((stored) => stored.organization.id === organization)
  }

  async #drop(isMeant: (stored: StoredPipeline) => boolean): Promise<void> {
    this.#generation++
    for (const held of [this.#byId, this.#others]) {
      for (const [key, one] of held) {
        if (!isMeant(one.stored)) continue
        held.delete(key)
        if (one.inFlight > 0) this.#drain(one)
      }
    }
    for (const [endpoint, one] of this.#byEndpoint) {
      if (one === null || isMeant(one.stored)) this.#byEndpoint.delete(endpoint)
    }
    // Includes pipelines of an earlier drop. In a cluster a node receives its own change twice, in either order.
    const draining = [...this.#draining].filter(({ stored }) => isMeant(stored))
    await allDone(draining.map((one) => one.drained))
  }

  async #prepare(stored: StoredPipeline): Promise<LoadedPipeline | null> {
    const { compile, authMode, intakeOf, log } = this.#args
    const compilation = await compile(stored)
    if (!compilation.ok) {
      log.error(
        { pipeline: stored.slug, organization: stored.organization.id, findings: compilation.findings },
        "a stored pipeline does not compile; it accepts no events",
      )
      return null
    }
    const known = authMode(stored.document.auth_mode)
    if (!known) {
      log.error(
        { pipeline: stored.slug, auth_mode: stored.document.auth_mode },
        "no plugin provides this auth mode; the pipeline accepts no events",
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
      intake: intakeOf(stored.document.purpose),
      inFlight: 0,
      idle: undefined,
      drained: undefined,
      ended: false,
    }
  }

  async #loadEndpoint(endpointId: string): Promise<LoadedPipeline | null> {
    const generation = this.#generation
    const stored = await this.#args.source().byEndpoint(endpointId)
    const loaded = stored ? await this.#prepare(stored) : null
    if (generation !== this.#generation) return loaded
    if (this.#byEndpoint.size > maxUnknown + this.#byId.size) this.#forgetUnknown()
    this.#byEndpoint.set(endpointId, loaded)
    if (loaded) this.#byId.set(loaded.stored.id, loaded)
    return loaded
  }

  async #loadOther(key: string, stored: StoredPipeline): Promise<LoadedPipeline | null> {
    const generation = this.#generation
    const loaded = await this.#prepare(stored)
    if (!loaded || generation !== this.#generation) return loaded
    for (const oldest of this.#others.keys()) {
      if (this.#others.size < maxOthers) break
      if (this.#others.get(oldest)?.inFlight === 0) this.#others.delete(oldest)
      else break
    }
    this.#others.set(key, loaded)
    return loaded
  }

  #forgetUnknown(): void {
    for (const [endpoint, loaded] of this.#byEndpoint) if (loaded === null) this.#byEndpoint.delete(endpoint)
  }

  #once(name: string, load: () => Promise<LoadedPipeline | null>): Promise<LoadedPipeline | null> {
    const key = `${name} ${this.#generation}`
    const loading = this.#loading.get(key)
    if (loading) return loading
    const started = load().finally(() => this.#loading.delete(key))
    this.#loading.set(key, started)
    return started
  }

  #drain(loaded: LoadedPipeline): void {
    this.#draining.add(loaded)
    loaded.drained = new Promise((resolve) => {
      const done = () => {
        this.#draining.delete(loaded)
        resolve()
      }
      const cancel = this.#args.clock.after(this.#args.drainMs, () => {
        loaded.ended = true
        done()
      })
      loaded.idle = () => {
        cancel()
        done()
      }
    })
  }
}

/** Call this right before a commit. */
export function refuseEnded(loaded: LoadedPipeline): void {
  if (!loaded.ended) return
  throw new AppError("unavailable", "The pipeline was changed while the event was in flight; send it again.", {
    reason: "pipeline_changed",
  })
}
