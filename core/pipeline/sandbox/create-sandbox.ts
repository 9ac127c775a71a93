// Builds the sandbox: compiles and caches programs, and sends calls to a lane by pipeline. Offenders run in a separate lane or
// are refused.
import { maxScriptMs } from "../../contract/sandbox.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { CoreConfig } from "../../kernel/config.ts"
import type { Share } from "../../kernel/fair-scheduler.ts"
import { BoundedLog, type Logger } from "../../kernel/log.ts"
import { allDone } from "../../kernel/promises.ts"
import type { Loss } from "./child-link.ts"
import { Compiler, type ProgramSource } from "./compiler.ts"
import { isolateBundle } from "./isolate-bundle.ts"
import { digestOf, type Job, keyOf } from "./job.ts"
import { Lane, type LaneOptions } from "./lane.ts"
import { mapped, readMapping } from "./mapping/mapping.ts"
import { Offenders, organizationPenaltyFrom, strike } from "./offenders.ts"
import { PenaltyLanes } from "./penalty-lanes.ts"
import { ProgramCache } from "./program-cache.ts"
import type { Program, Sandbox, SandboxCall, SandboxResult } from "./sandbox.ts"

/** Events of the sandbox, for counters. */
export type SandboxSight =
  | { readonly type: "batch"; readonly events: number }
  | { readonly type: "child_started"; readonly milliseconds: number }
  | { readonly type: "child_lost"; readonly cause: string }
  | { readonly type: "paused"; readonly pipelineId: string; readonly milliseconds: number }

export interface SandboxOptions {
  readonly config: CoreConfig["sandbox"]
  readonly log: Logger
  readonly clock: Clock
  readonly observe?: (sight: SandboxSight) => void
  /** Folder for compiled programs. Without it, programs are cached in memory only. */
  readonly cacheFolder?: string
  /**
   * Compiles all programs under this organization. Use it only if all programs belong to a single user, because it removes the
   * isolation between organizations.
   */
  readonly compileAs?: string | undefined
}

export function createSandbox({ config, log, clock, observe = () => {}, cacheFolder, compileAs }: SandboxOptions): Sandbox {
  const offenders = new Offenders(clock)
  const organizations = new Offenders(clock, organizationPenaltyFrom)
  const programs = new ProgramCache(cacheFolder ?? null, log)
  const faults = new BoundedLog(log, clock)
  const sayLost = ({ signal, code, stderr }: Loss, what: string) =>
    faults.error(what, { signal, exit_code: code, stderr: stderr.trim() }, what)
  const compiler = new Compiler(clock, {
    onReady: (undenied) => sayUndenied(undenied),
    onLost: (loss) => sayLost(loss, "A process of the sandbox ended while it was to compile, or could not start."),
  })
  const compiling = new Map<string, ReturnType<Sandbox["compile"]>>()

  const punish = (job: Job, weight: number) => {
    organizations.add(job.call.organization, "", weight)
    const pause = offenders.add(job.key, job.call.program.digest, weight)
    if (pause === 0) return
    observe({ type: "paused", pipelineId: job.call.pipelineId, milliseconds: pause })
    log.warn(
      { organization: job.call.organization, pipeline: job.call.pipelineId, pause_ms: pause },
      "The pipeline exceeded the sandbox's limits repeatedly, and is paused.",
    )
  }
  let said = false
  const sayUndenied = (undenied: readonly string[]) => {
    if (said || undenied.length === 0) return
    said = true
    log.warn({ undenied }, "The sandbox's processes are not fully confined on this system; only isolates protect it from these.")
  }
  const laneOptions: LaneOptions = {
    keepsSpare: true,
    config,
    clock,
    offenders,
    bundle: () => isolateBundle("runner"),
    onSuspects: (jobs) => penalties.suspects(jobs),
    onCulprit: (job, loss) => {
      log.warn(
        { organization: job.call.organization, pipeline: job.call.pipelineId, cause: causeOf(loss) },
        "An event ended a sandbox process.",
      )
      punish(job, strike)
    },
    onMisstep: punish,
    onStarted: (milliseconds, undenied) => {
      observe({ type: "child_started", milliseconds })
      sayUndenied(undenied)
    },
    onLost: (loss) => {
      observe({ type: "child_lost", cause: causeOf(loss) })
      if (!loss.report) sayLost(loss, "A process of the sandbox ended, or could not start.")
    },
    onRecycled: (megabytes) => {
      observe({ type: "child_lost", cause: "recycled" })
      log.info({ resident_mb: Math.round(megabytes) }, "A sandbox process exceeds max_process_mb and is replaced between events.")
    },
    onBatch: (events) => observe({ type: "batch", events }),
  }
  const penalties = new PenaltyLanes(laneOptions)
  const lanes = Array.from({ length: config.processes }, () => new Lane(laneOptions))
  // Scripts have a separate child, because they may run longer than an event's transform.
  const scripts = new Lane({
    ...laneOptions,
    keepsSpare: false,
    config: { ...config, timeout_ms: maxScriptMs, hard_deadline_ms: maxScriptMs * 5 },
  })
  const laneOf = (key: string) => lanes[config.processes === 1 ? 0 : spread(key) % config.processes]

  const compile = async (source: ProgramSource, digest: string) => {
    const isEmpty = source.transform === null && (source.schema === null || source.schema === undefined)
    if (isEmpty)
      return { program: { digest, validator: null, transform: null, fields: null, mapping: { check: null, result: null } }, problems: [] }
    const known = await programs.get(digest)
    if (known) return { program: known, problems: [] }
    const compiled = await compiler.compile(source)
    if (compiled.problems.length > 0) return { program: null, problems: compiled.problems }
    const { validator, transform, fields } = compiled
    const program: Program = { digest, validator, transform, fields, mapping: readMapping(compiled.mapping) }
    await programs.put(program)
    return { program, problems: [] }
  }

  return {
    compile(given) {
      const source = compileAs === undefined ? given : { ...given, organization: compileAs }
      const digest = digestOf(source)
      let under = compiling.get(digest)
      if (!under) {
        under = compile(source, digest).finally(() => compiling.delete(digest))
        compiling.set(digest, under)
      }
      return under
    },

    map(call) {
      const { organization, pipelineId, program } = call
      return offenders.hasPenalty(keyOf(organization, pipelineId), program.digest) ? undefined : mapped(call)
    },

    run(call) {
      const key = keyOf(call.organization, call.pipelineId)
      const usual = call.script ? scripts : laneOf(key)
      const penalized = offenders.hasPenalty(key, call.program.digest)
      const pauseMs = penalized ? offenders.pauseMs(key) : 0
      if (pauseMs > 0) return Promise.resolve(paused(pauseMs))
      const lane = organizations.hasPenalty(call.organization, "")
        ? penalties.lane(call.organization)
        : penalized
          ? penalties.lane(key)
          : usual
      if (!lane) return Promise.resolve(paused(1_000))
      return new Promise((resolve) => lane.add(newJob(key, call, resolve, clock.monotonic())))
    },

    forget(pipelineId) {
      for (const lane of lanes) lane.forget(pipelineId)
      scripts.forget(pipelineId)
      penalties.forget(pipelineId)
    },

    shares: () => ({ sandbox: sumShares([...lanes, scripts].map((lane) => lane.shares())), compiler: compiler.shares() }),

    async start() {
      await isolateBundle("runner")
      await allDone(lanes.map((lane) => lane.start()))
    },

    async stop() {
      compiler.stop()
      await allDone([...lanes.map((lane) => lane.stop()), scripts.stop(), penalties.stop()])
    },
  }
}

function newJob(key: string, call: SandboxCall, resolve: (result: SandboxResult) => void, queuedAt: number): Job {
  return { key, call, resolve, queuedAt, losses: 0, alone: false }
}

/** The pipelines of an organization may use several lanes. */
function sumShares(each: readonly (readonly Share[])[]): Share[] {
  const sums = new Map<string, Share>()
  for (const share of each.flat()) {
    const { waiting = 0, running = 0, waitingMs = 0 } = sums.get(share.organization) ?? {}
    sums.set(share.organization, {
      organization: share.organization,
      waiting: waiting + share.waiting,
      running: running + share.running,
      waitingMs: Math.max(waitingMs, share.waitingMs),
    })
  }
  return [...sums.values()].sort((a, b) => b.waitingMs - a.waitingMs)
}

function paused(milliseconds: number): SandboxResult {
  const retryAfterS = Math.max(1, Math.ceil(milliseconds / 1_000))
  return {
    ok: false,
    kind: "penalty",
    message: `The pipeline's transform or schema ends its process repeatedly, and is paused; try again in ${retryAfterS} s.`,
    retryAfterS,
  }
}

function causeOf(loss: Loss): string {
  return loss.report ? "hard_deadline" : (loss.signal ?? `exit_${loss.code}`)
}

/** FNV-1a hash. A pipeline always uses the same child. */
function spread(key: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  return hash >>> 0
}
