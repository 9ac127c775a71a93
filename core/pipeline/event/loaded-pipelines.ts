// The pipelines in use, compiled and with a prepared verifier, by endpoint. A change drops one; the drop is confirmed when
// no event that was verified under the old revision is still uncommitted.
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

/** A pipeline ready to take events. */
export interface LoadedPipeline {
  readonly stored: StoredPipeline
  readonly graph: Graph
  readonly program: Program
  readonly verifier: Verifier
  /** The plugin that takes requests to this pipeline itself, where one does. */
  readonly intake: Intake | undefined
  /** Events verified under this revision and not yet committed. */
  inFlight: number
  /** Called when `inFlight` falls to zero after the pipeline was dropped. */
  idle: (() => void) | undefined
  /** Resolves when it is, or is waited for no longer; set by the drop. */
  drained: Promise<void> | undefined
  /** Set when the drop waited no longer: what is still in flight must not be committed. */
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

/** Unknown endpoints are remembered too, so that a scan of them costs no reads; bounded. */
const maxUnknown = 10_000
/** Pipelines without an endpoint, and earlier revisions that deferred work still runs. */
const maxOthers = 256

export class LoadedPipelines {
  readonly #args: LoadedPipelinesArgs
  readonly #byEndpoint = new Map<string, LoadedPipeline | null>()
  readonly #byId = new Map<string, LoadedPipeline>()
  /** By id and revision. */
  readonly #others = new Map<string, LoadedPipeline>()
  /** Dropped, with events still in progress. */
  readonly #draining = new Set<LoadedPipeline>()
  readonly #loading = new Map<string, Promise<LoadedPipeline | null>>()
  /** Counts drops, so that a load that began before one is not kept. */
  #generation = 0

  constructor(args: LoadedPipelinesArgs) {
    this.#args = args
  }

  /** The pipeline of an endpoint; null when there is none. A promise while it is being loaded: ask again after it, since what it loaded may have changed meanwhile. */
  byEndpoint(endpointId: string): LoadedPipeline | null | Promise<LoadedPipeline | null> {
    const known = this.#byEndpoint.get(endpointId)
    return known === undefined ? this.#once(`endpoint ${endpointId}`, () => this.#loadEndpoint(endpointId)) : known
  }

  /** What is in memory, without loading anything. */
  known(endpointId: string): LoadedPipeline | null | undefined {
    return this.#byEndpoint.get(endpointId)
  }

  /** For events from inside the service. Throws `failed_precondition` where it does not compile. */
  async require(stored: StoredPipeline): Promise<LoadedPipeline> {
    const loaded = await this.of(stored)
    if (loaded) return loaded
    throw new AppError("failed_precondition", `The pipeline "${stored.slug}" does not compile with the plugins that are loaded.`, {
      reason: "no_longer_compiles",
    })
  }

  /** For events from inside the service, and for deferred work. */
  of(stored: StoredPipeline): Promise<LoadedPipeline | null> {
    const key = `${stored.id} ${stored.revision}`
    const current = this.#byId.get(stored.id)
    const known = current?.stored.revision === stored.revision ? current : this.#others.get(key)
    return known ? Promise.resolve(known) : this.#once(`id ${key}`, () => this.#loadOther(key, stored))
  }

  /** Lets go of a pipeline (of all, without an id) and waits for its events in flight. */
  async drop(pipelineId: string | undefined): Promise<void> {
    const dropped = this.#drop(({ id }) => pipelineId === undefined || id === pipelineId)
    if (pipelineId !== undefined) this.#args.forget(pipelineId)
    await dropped
  }

  /** Lets go of the pipelines of an organization and waits for their events in flight. */
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
    // Also those of an earlier drop: on a cluster this node hears of its own change twice, and either may come first.
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

/** To be asked right before a commit. */
export function refuseEnded(loaded: LoadedPipeline): void {
  if (!loaded.ended) return
  throw new AppError("unavailable", "The pipeline was changed while the event was in flight; send it again.", {
    reason: "pipeline_changed",
  })
}
