// The widget canary: periodically loads the widget's page in Chromium and checks that the widget is visible. A late or unfinished
// check raises an alarm, as a failed check does.
import { Counter } from "prom-client"
import {
  AppError,
  type Changes,
  Clock,
  changesOf,
  type Deps,
  defineJob,
  derivedUuid,
  type FieldsOf,
  Ids,
  JobQueue,
  Live,
  Log,
  Postponed,
  Scheduler,
  Store,
  timestamp,
  type UnitOfWork,
} from "#core"
import { Metrics } from "#core/engine"
import { Screenshots } from "../../../pages/screenshots/index.ts"
import { Organizations } from "../../../platform/organizations/index.ts"
import { evalsChannel } from "../runs/collections.ts"
import { CanaryCollection, type CheckVerdict, checkRef, type StoredCanary, watchRef } from "./collection.ts"
export type CanaryTarget = Pick<StoredCanary, "widget" | "widget_name" | "selector" | "interval_minutes">

/** Time until the job looks for the check's picture again. */
const pictureMs = 1_000
const viewport = { width: 1_280, height: 800, device_scale_factor: 1 } as const

export class Canary {
  static readonly inject = {
    store: Store,
    clock: Clock,
    ids: Ids,
    queue: JobQueue,
    live: Live,
    log: Log,
    metrics: Metrics,
    scheduler: Scheduler,
    organizations: Organizations,
    screenshots: Screenshots,
  }
  readonly #deps: Deps<typeof Canary.inject>
  readonly #alarms: Counter<"verdict">

  constructor(deps: Deps<typeof Canary.inject>) {
    this.#deps = deps
    this.#alarms = new Counter({
      name: "millrace_widget_canary_alarms_total",
      help: "Alarms of widget canaries by verdict: failed, unfinished, late.",
      labelNames: ["verdict"],
      registers: [deps.metrics],
    })
  }

  get(organization: string): Promise<StoredCanary | undefined> {
    return this.#deps.store.open(CanaryCollection, organization).get(organization)
  }

  /** Stages the target of the checks. `undefined` ends them. */
  configure(
    work: UnitOfWork,
    organization: string,
    before: StoredCanary | undefined,
    target: CanaryTarget | undefined,
  ): StoredCanary | undefined {
    const { clock, scheduler } = this.#deps
    const canaries = work.in(CanaryCollection, organization)
    if (!target) {
      if (before) canaries.remove(organization, { where: { revision: before.revision } })
      scheduler.remove(work, watchRef, organization)
      return undefined
    }
    const at = timestamp(clock.now())
    const none = { running_since: null, check_id: null, last_check_at: null, verdict: null, reason: "" }
    const fresh = { ...none, last_started_at: timestamp(clock.now() - target.interval_minutes * 60_000) }
    const canary = { ...fresh, ...target, id: organization, revision: (before?.revision ?? 0) + 1, updated_at: at }
    if (before) canaries.update(organization, { $set: changeOf(canary) }, { where: { revision: before.revision } })
    else canaries.insert(canary)
    scheduler.set(work, { id: organization, job: watchRef, payload: {}, organization, cron: "* * * * *" })
    return canary
  }

  /** Runs every minute: starts a due check, and raises an alarm for a late or unfinished check. */
  async watch(work: UnitOfWork, organization: string): Promise<void> {
    const { clock, ids, queue, organizations, screenshots } = this.#deps
    const canary = await this.get(organization)
    if (!canary) return
    const now = clock.now()
    const { alarm, starts } = dueOf(canary, now)
    if (alarm) this.#conclude(work, canary, alarm, alarmReason[alarm])
    if (!starts) return
    const owner = await organizations.byId(organization)
    if (!owner) return
    const check_id = ids.uuid()
    const target = {
      url: canary.widget,
      viewport,
      full_page: false,
      instructions: [{ action: "wait" as const, selector: canary.selector }],
    }
    const began = { last_started_at: timestamp(now) }
    try {
      const screenshot_id = await screenshots.start(work, { organization: owner }, target)
      queue.enqueue(work, checkRef, { check_id, screenshot_id }, { organization, id: derivedUuid("widget check", check_id) })
      this.#update(work, canary, { ...began, running_since: timestamp(now), check_id })
    } catch (error) {
      if (!(error instanceof AppError) || (error.code !== "invalid_argument" && error.code !== "failed_precondition")) throw error
      this.#update(work, canary, began)
      this.#conclude(work, canary, "failed", error.message)
    }
  }

  /** Ends a check once its picture is stored. Throws Postponed before. */
  async check(
    work: UnitOfWork,
    organization: string,
    { check_id, screenshot_id }: { check_id: string; screenshot_id: string },
  ): Promise<void> {
    const canary = await this.get(organization)
    if (canary?.check_id !== check_id) return
    const { status, error, http_status = 0 } = await this.#deps.screenshots.get(organization, screenshot_id)
    if (status === "processing") throw new Postponed(pictureMs)
    const problem =
      status !== "done" ? error || "The page could not be loaded." : http_status >= 400 ? `The page answered ${http_status}.` : ""
    this.#conclude(work, canary, problem === "" ? "passed" : "failed", problem)
  }

  /** Stages the failure of a check that could not run. */
  async giveUp(work: UnitOfWork, organization: string, check_id: string): Promise<void> {
    const canary = await this.get(organization)
    if (canary?.check_id === check_id) this.#conclude(work, canary, "failed", "The check failed because of an internal error.")
  }

  #conclude(work: UnitOfWork, canary: StoredCanary, verdict: CheckVerdict, reason: string): void {
    const at = timestamp(this.#deps.clock.now())
    this.#update(work, canary, { running_since: null, check_id: null, last_check_at: at, verdict, reason })
    if (verdict === "passed") return
    const { organization_id: organization = canary.id, widget, widget_name } = canary
    const data = { widget, widget_name, verdict, reason, at }
    this.#deps.live.stage(work, organization, { channel: evalsChannel.name, event: "widget_canary_alarm", data })
    work.afterCommit(() => {
      this.#alarms.inc({ verdict })
      this.#deps.log.error({ organization, widget_name, verdict, reason }, "a widget canary raised an alarm")
    })
  }

  #update(work: UnitOfWork, { id, revision }: StoredCanary, change: Partial<FieldsOf<StoredCanary>>): void {
    work.in(CanaryCollection, id).update(id, { $set: changesOf(change) }, { where: { revision }, optional: true })
  }
}

const alarmReason = {
  unfinished: "The check did not end in time.",
  late: "No check began when one should have.",
} as const

function changeOf({ id: _id, organization_id: _organization, ...change }: StoredCanary): Changes {
  return changesOf(change)
}

/** A check counts as unfinished, or a missing start as late, after this time. */
const graceMs = 5 * 60_000

type Watched = Pick<StoredCanary, "running_since" | "last_started_at" | "interval_minutes">

interface Due {
  /** The alarm to raise, if any. */
  readonly alarm: Extract<CheckVerdict, "unfinished" | "late"> | undefined
  readonly starts: boolean
}

/** Returns the action due for a canary: start a check, or raise an alarm for a late or unfinished check. Pure. */
export function dueOf({ running_since, last_started_at, interval_minutes }: Watched, now: number): Due {
  const isOverdue = running_since !== null && now - Date.parse(running_since) > graceMs
  if (running_since !== null && !isOverdue) return { alarm: undefined, starts: false }
  const sinceDue = now - Date.parse(last_started_at) - interval_minutes * 60_000
  const isLate = running_since === null && sinceDue > graceMs
  return { alarm: isOverdue ? "unfinished" : isLate ? "late" : undefined, starts: isOverdue || sinceDue >= 0 }
}

/** Returns the current verdict: the last verdict, unless a check is overdue. */
export function verdictNow(canary: Watched & Pick<StoredCanary, "verdict">, now: number): CheckVerdict | null {
  return dueOf(canary, now).alarm ?? canary.verdict
}

/** The jobs of the widget canary: a job that looks for due checks every minute, and a job per check. */
export const watchWidget = defineJob(watchRef, {
  summary: "Start a check of the widget canary that is due, and tell of one that is late or does not end.",
  inject: { canary: Canary },
  run: ({ deps, organization = "", work }) => deps.canary.watch(work, organization),
})

export const checkWidget = defineJob(checkRef, {
  summary: "Look whether the widget was there when its page was loaded.",
  inject: { canary: Canary },
  run: ({ payload, deps, organization = "", work }) => deps.canary.check(work, organization, payload),
  exhausted: ({ payload, deps, organization = "", work }) => deps.canary.giveUp(work, organization, payload.check_id),
})
