// Finds bursts of clicks on one page. Requests of a page may arrive out of order and more than once. Recent clicks are stored one
// by one, so each gets its place by time and counts once. Older clicks are settled: only the burst of the last settled click is
// stored. Pure.
import type { Click } from "./batch.ts"

const burstMs = 1_000
const burstPx = 30
const burstClicks = 3
/** Two or three clicks select a word or a line. Further clicks are not selection. */
const selectingClicks = 4

/** Bounds of the stored clicks per page: count and age. */
const maxRecent = 50
const recentMs = 5 * 60_000

export interface HeardClick extends Click {
  /** Time by the server's clock. */
  readonly time: number
}

/** Stored clicks of a page. */
export interface PageClicks {
  /** The last settled click and the length of its burst, itself included. Times are by the browser's clock. */
  burst: Burst | null
  /** Later clicks, in order of time. Absent in sessions of earlier versions. */
  clicks?: RecentClick[]
}

export interface Burst {
  at: number
  x: number
  y: number
  count: number
  /** True if the burst selected text. */
  selects?: boolean
  /** Partial in sessions of earlier versions. */
  rage?: Partial<Rage> & Omit<Rage, "count" | "since" | "written">
}

interface RecentClick extends HeardClick {
  /** Present on the click that made the burst a rage click. */
  rage?: Rage | undefined
}

/** A burst's row: number of its kind, click count, and the time and place at which it became a rage click. */
export interface Rage {
  number: number
  count: number
  /** Time by the server's clock. */
  at: number
  x: number
  y: number
  element: string
  /** Times of the first and the last write of the row, by the server's clock. Each write is later than the one before. */
  since: number
  written: number
}

export interface BurstChanges {
  /** Rows to write or rewrite. */
  readonly written: readonly Rage[]
  /** Rows to remove: late clicks joined their burst to another burst, or split it. */
  readonly withdrawn: readonly Rage[]
}

export interface ClickDeps {
  readonly now: number
  /** Returns the number of the next row. */
  readonly next: () => number
}

/** Adds clicks to `page` in place. Known clicks are ignored. */
export function takeClicks(page: PageClicks, clicks: readonly HeardClick[], deps: ClickDeps): BurstChanges {
  const recent = page.clicks ?? []
  const keys = new Set(recent.map(keyOf))
  const settledAt = page.burst?.at ?? Number.NEGATIVE_INFINITY
  const fresh = clicks.filter((click) => click.at > settledAt && !keys.has(keyOf(click)) && keys.add(keyOf(click)))
  page.clicks = [...recent, ...fresh].sort(byTime)
  const changes = fresh.length > 0 ? judge(page.burst, page.clicks, deps) : { written: [], withdrawn: [] }
  settleClicks(page, deps.now)
  return changes
}

/** Settles clicks over the count bound, and clicks too old for a request to be still in flight. */
export function settleClicks(page: PageClicks, now: number): void {
  const clicks = page.clicks ?? []
  for (let first = clicks[0]; first && (clicks.length > maxRecent || first.time < now - recentMs); first = clicks[0]) {
    page.burst = continued(page.burst, first)
    if (first.rage) page.burst.rage = first.rage
    clicks.shift()
  }
}

function keyOf({ at, x, y }: HeardClick): string {
  return `${at} ${x} ${y}`
}

function byTime(first: HeardClick, second: HeardClick): number {
  return first.at - second.at || first.x - second.x || first.y - second.y
}

/** Consecutive clicks of a burst. The first ones may be settled. */
interface Run {
  readonly settled: Burst | null
  readonly clicks: RecentClick[]
}

function judge(burst: Burst | null, clicks: readonly RecentClick[], deps: ClickDeps): BurstChanges {
  const changes = { written: [] as Rage[], withdrawn: [] as Rage[] }
  for (const run of runsOf(burst, clicks)) judgeRun(run, deps, changes)
  return changes
}

function runsOf(burst: Burst | null, clicks: readonly RecentClick[]): Run[] {
  let run: Run = { settled: burst, clicks: [] }
  const runs = [run]
  let last = burst
  for (const click of clicks) {
    last = continued(last, click)
    if (last.count === 1) {
      run = { settled: null, clicks: [] }
      runs.push(run)
    }
    run.clicks.push(click)
  }
  return runs
}

function judgeRun(
  { settled, clicks }: Run,
  { now, next }: ClickDeps,
  { written, withdrawn }: { written: Rage[]; withdrawn: Rage[] },
): void {
  const rows = clicks.flatMap(({ rage }) => rage ?? []).sort((left, right) => left.number - right.number)
  let burst = settled
  let created: RecentClick | undefined
  for (const click of clicks) {
    click.rage = undefined
    burst = continued(burst, click)
    if (!settled?.rage && burst.count >= (burst.selects ? selectingClicks : burstClicks)) created ??= click
  }
  const before = settled?.rage ? { count: 0, since: now, written: 0, ...settled.rage } : created && rows.shift()
  withdrawn.push(...rows)
  const place = created ? { at: created.time, x: Math.round(created.x), y: Math.round(created.y), element: created.element } : before
  if (clicks.length === 0 || !burst || !place) return
  const { at, x, y, element } = place
  const { count } = burst
  const isSame = before?.count === count && before.at === at && before.x === x && before.y === y && before.element === element
  const rage: Rage = isSame
    ? before
    : {
        number: before?.number ?? next(),
        count,
        at,
        x,
        y,
        element,
        since: before?.since ?? now,
        written: Math.max(now, (before?.written ?? 0) + 1),
      }
  if (!isSame) written.push(rage)
  if (created) created.rage = rage
  else if (settled) settled.rage = rage
}

/** Returns the burst extended by the click, or a new burst. */
function continued(last: Burst | null, { at, x, y, how }: HeardClick): Burst {
  const alone = { at, x, y, count: 1, selects: how === "selects" }
  if (!last || how === "uses" || at - last.at >= burstMs || Math.abs(x - last.x) + Math.abs(y - last.y) >= burstPx) return alone
  const selects = last.selects === true || alone.selects
  return { ...alone, count: last.count + 1, selects, ...(last.rage ? { rage: last.rage } : {}) }
}
