// State of an open session and the events derived from it: rage clicks during the session, bails and abandoned forms at its end.
// Pure: state in, state and derived rows out.
import type { Json } from "#core"
import type { Batch, Click } from "./batch.ts"
import { type PageClicks, type Rage, settleClicks, takeClicks } from "./bursts.ts"
import type { DerivedKind, SubmittedEvent } from "./vocabulary.ts"

export const idleMs = 30 * 60_000
export const maxSessionMs = 24 * 3_600_000

const bailBelow = 25
/** Memory bounds of one session. */
const most = { pages: 30, forms: 10, names: 200 }

/** One page of a session. Test traffic has a separate visit. */
export interface PageVisit extends PageClicks {
  /** Columns in every row of the page, with their latest values. */
  base: Record<string, Json>
  first_at: number
  last_at: number
  viewed: boolean
  clicked: boolean
  lead: boolean
  depth: number
  /** Row of the first view, with its depth and the time of its last write. Absent before the first view. */
  view?: { event_id: string; depth: number; written: number }
  /** Started forms, with their fields' names in order of the first touch. */
  forms: { form: string; fields: string[] }[]
}

export interface SessionState {
  session_id: string
  /** Milliseconds since the epoch. */
  started_at: number
  last_at: number
  /** By page; see `pageVisit`. */
  pages: Record<string, PageVisit>
  /** Number of derived rows per kind. The next row of a kind gets this number. */
  numbers: Partial<Record<DerivedKind, number>>
}

export interface DerivedRow {
  readonly kind: DerivedKind
  readonly number: number
  readonly at: number
  readonly base: Readonly<Record<string, Json>>
  readonly columns: Readonly<Record<string, Json>>
  /** Time of this write, for rows with several writes; later for each write. Milliseconds since the epoch. */
  readonly writtenAt?: number
}

/** A derived row that new data has invalidated. */
export interface WithdrawnRow extends Pick<DerivedRow, "kind" | "number" | "base"> {
  /** Time of the first write, in milliseconds since the epoch. */
  readonly since: number
}

/** Changes derived from a batch. */
export interface Derived {
  readonly rows: readonly DerivedRow[]
  readonly withdrawn: readonly WithdrawnRow[]
  /** The view's row, if the page was scrolled deeper since its last write. */
  readonly deeper?: DeeperView | undefined
}

export interface DeeperView {
  readonly event_id: string
  readonly max_scroll_depth: number
  /** Milliseconds since the epoch, later for each write. */
  readonly writtenAt: number
}

/** Returns the time at which the session ends without further events. */
export function endOf(state: Pick<SessionState, "started_at" | "last_at">): number {
  return Math.min(state.last_at + idleMs, state.started_at + maxSessionMs)
}

export interface Heard {
  readonly artifact: string
  readonly base: Record<string, Json>
  readonly events: readonly SubmittedEvent[]
  readonly batch: Pick<Batch, "clicks" | "touched" | "depth">
  readonly receivedAt: number
  /** Converts a time of the browser's clock to the server's clock. */
  readonly timeOf: (at: number) => number
}

/** Returns the stored visit of a page. Test traffic has a separate visit, so a team's own checks do not affect visitors. */
export function pageVisit({ pages }: SessionState, artifact: string, isTest: boolean): PageVisit | undefined {
  const visit = pages[keyOf(artifact, isTest)]
  // Sessions of earlier versions may have test traffic in the visitor's place. Those visits restart.
  return visit && isTestVisit(visit) === isTest ? visit : undefined
}

/** Adds a batch to `state` in place. Returns the immediate changes. */
export function hear(state: SessionState, input: Heard): Derived {
  const { artifact, base, events, batch, receivedAt } = input
  state.last_at = Math.max(state.last_at, receivedAt)
  const isTest = base["is_test"] === true
  const visit = pageVisit(state, artifact, isTest)
  if (!visit && Object.keys(state.pages).length >= most.pages) return { rows: [], withdrawn: [] }
  const page: PageVisit = visit ?? {
    base,
    first_at: receivedAt,
    last_at: receivedAt,
    viewed: false,
    clicked: false,
    lead: false,
    depth: 0,
    forms: [],
    burst: null,
  }
  page.base = base
  page.last_at = Math.max(page.last_at, receivedAt)
  state.pages[keyOf(artifact, isTest)] = page
  page.depth = Math.max(page.depth, batch.depth ?? 0)
  for (const event of events) note(state, page, event)
  for (const { form, field } of batch.touched) touch(state, page, form, field)
  for (const other of Object.values(state.pages)) settleClicks(other, receivedAt)
  return { ...bursts(state, page, clicksOf(events, batch.clicks, receivedAt), input), deeper: deeperView(page, input) }
}

/** Records the new depth for the row of the page's view. Some senders report no depth, only milestones. */
function deeperView(page: PageVisit, { events, batch, receivedAt }: Heard): DeeperView | undefined {
  const viewed = events.find(({ kind }) => kind === "pageview")
  if (viewed) page.view ??= { event_id: viewed.event_id, depth: -1, written: 0 }
  const { view, depth } = page
  if (!view || depth <= view.depth || (depth === 0 && batch.depth === undefined)) return undefined
  view.depth = depth
  view.written = Math.max(receivedAt, view.written + 1)
  return { event_id: view.event_id, max_scroll_depth: depth, writtenAt: view.written }
}

/**
 * Returns the final rows of an ended session. Its pages are judged together, since one may lead to another. Test traffic is
 * separate. `leads`: kinds of traffic (test or not) with a lead recorded by the service.
 */
export function conclude(state: SessionState, leads: ReadonlySet<boolean> = new Set()): DerivedRow[] {
  return [false, true].flatMap((isTest) => {
    const pages = visitsOf(state, isTest)
    const isLead = leads.has(isTest) || pages.some(({ lead }) => lead)
    return [...bails(state, pages), ...(isLead ? [] : abandons(state, pages))]
  })
}

/** Returns the columns of the session's latest row, on any page. */
export function lastBase(state: SessionState, isTest: boolean): Readonly<Record<string, Json>> | undefined {
  const [latest] = visitsOf(state, isTest).sort((left, right) => right.last_at - left.last_at)
  return latest?.base
}

function visitsOf(state: SessionState, isTest: boolean): PageVisit[] {
  return Object.values(state.pages).filter((page) => isTestVisit(page) === isTest)
}

function keyOf(artifact: string, isTest: boolean): string {
  return isTest ? `${artifact}:test` : artifact
}

function isTestVisit({ base }: PageVisit): boolean {
  return base["is_test"] === true
}

/** Returns one row for the session, at the visitor's last page. */
function bails(state: SessionState, pages: readonly PageVisit[]): DerivedRow[] {
  const max_scroll_depth = Math.max(...pages.map(({ depth }) => depth))
  if (!pages.some(({ viewed }) => viewed) || pages.some(({ clicked }) => clicked) || max_scroll_depth >= bailBelow) return []
  const { base, last_at: at } = pages.reduce((last, page) => (page.last_at < last.last_at ? last : page))
  const columns = { max_scroll_depth, duration_ms: at - Math.min(...pages.map(({ first_at }) => first_at)) }
  return [{ kind: "scroll_bail", number: next(state, "scroll_bail"), at, base, columns }]
}

/** Returns one row per form, on the page of the form. */
function abandons(state: SessionState, pages: readonly PageVisit[]): DerivedRow[] {
  return pages.flatMap(({ base, first_at, last_at: at, forms }) =>
    forms.map(({ form, fields }) => {
      const touched = { field_count: fields.length, fields_touched: fields.join(","), last_field: fields.at(-1) ?? "" }
      const columns = { form, ...touched, duration_ms: at - first_at }
      return { kind: "form_abandon", number: next(state, "form_abandon"), at, base, columns }
    }),
  )
}

function note(state: SessionState, page: PageVisit, { kind, columns }: SubmittedEvent): void {
  if (kind === "pageview") page.viewed = true
  else if (kind === "lead") page.lead = true
  else if (kind === "cta_click") page.clicked = true
  else if (kind === "scroll_milestone") page.depth = Math.max(page.depth, Number(columns["scroll_depth"]))
  else if (kind === "form_start") touch(state, page, String(columns["form"]), String(columns["field"]))
}

function touch(state: SessionState, page: PageVisit, form: string, field: string): void {
  let started = page.forms.find((entry) => entry.form === form)
  if (!started) {
    if (page.forms.length >= most.forms) return
    started = { form, fields: [] }
    page.forms.push(started)
  }
  if (field !== "" && !started.fields.includes(field) && namesIn(state) < most.names) started.fields.push(field)
}

function namesIn(state: SessionState): number {
  return Object.values(state.pages).reduce((sum, { forms }) => sum + forms.reduce((inForms, { fields }) => inForms + fields.length, 0), 0)
}

/** Merges clicks on calls to action (events) with other clicks (signals). A burst may consist of both. */
function clicksOf(events: readonly SubmittedEvent[], signals: readonly Click[], receivedAt: number): Click[] {
  const asEvents = events.flatMap(({ kind, at, columns }) => {
    const { x, y, element } = columns
    if (kind !== "cta_click" || typeof x !== "number" || typeof y !== "number") return []
    return [{ at: at ?? receivedAt, x, y, element: String(element ?? ""), how: "click" as const }]
  })
  return [...asEvents, ...signals]
}

function bursts(state: SessionState, page: PageVisit, clicks: readonly Click[], { receivedAt, timeOf }: Heard): Derived {
  if (clicks.length > 0) page.clicked = true
  const timedClicks = clicks.map((click) => ({ ...click, time: timeOf(click.at) }))
  const { written, withdrawn } = takeClicks(page, timedClicks, { now: receivedAt, next: () => next(state, "rage_click") })
  const { base } = page
  return {
    rows: written.map((rage) => rageRow(rage, base)),
    withdrawn: withdrawn.map(({ number, since }) => ({ kind: "rage_click", number, base, since })),
  }
}

function rageRow({ number, count, at, x, y, element, written }: Rage, base: PageVisit["base"]): DerivedRow {
  return { kind: "rage_click", number, at, base, columns: { x, y, element, click_count: count }, writtenAt: written }
}

function next(state: SessionState, kind: DerivedKind): number {
  const number = (state.numbers[kind] ?? 0) + 1
  state.numbers[kind] = number
  return number
}
