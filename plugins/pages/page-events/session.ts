// What the service remembers of an open session, and what follows from it: bursts of clicks while it goes on, bails and
// abandoned forms when it is over. Pure: state in, state and derived rows out.
import type { Json } from "#core"
import type { Batch, Click } from "./batch.ts"
import { type PageClicks, type Rage, settleClicks, takeClicks } from "./bursts.ts"
import type { DerivedKind, SubmittedEvent } from "./vocabulary.ts"

export const idleMs = 30 * 60_000
export const maxSessionMs = 24 * 3_600_000

const bailBelow = 25
/** What one session may make the service remember. */
const most = { pages: 30, forms: 10, names: 200 }

/** One page of a session, in test traffic or out of it. */
export interface PageVisit extends PageClicks {
  /** The columns that every row of the page has, as they were last. */
  base: Record<string, Json>
  first_at: number
  last_at: number
  viewed: boolean
  clicked: boolean
  lead: boolean
  depth: number
  /** The row of the first view, with the depth that it has and the time of its last writing; absent before the first view. */
  view?: { event_id: string; depth: number; written: number }
  /** Forms that were started, with their fields' names in the order of the first touch. */
  forms: { form: string; fields: string[] }[]
}

export interface SessionState {
  session_id: string
  /** Milliseconds since the epoch. */
  started_at: number
  last_at: number
  /** By page; see `pageVisit`. */
  pages: Record<string, PageVisit>
  /** How many derived rows there are of each kind: the number of the next. */
  numbers: Partial<Record<DerivedKind, number>>
}

export interface DerivedRow {
  readonly kind: DerivedKind
  readonly number: number
  readonly at: number
  readonly base: Readonly<Record<string, Json>>
  readonly columns: Readonly<Record<string, Json>>
  /** Of a row that may be written several times: when this is, later each time; milliseconds since the epoch. */
  readonly writtenAt?: number
}

/** A derived row that no longer follows from what is known. */
export interface WithdrawnRow extends Pick<DerivedRow, "kind" | "number" | "base"> {
  /** When it was first written; milliseconds since the epoch. */
  readonly since: number
}

/** What follows from a batch. */
export interface Derived {
  readonly rows: readonly DerivedRow[]
  readonly withdrawn: readonly WithdrawnRow[]
  /** The view's row, if the page was scrolled deeper since its last writing. */
  readonly deeper?: DeeperView | undefined
}

export interface DeeperView {
  readonly event_id: string
  readonly max_scroll_depth: number
  /** Milliseconds since the epoch, later for each writing. */
  readonly writtenAt: number
}

/** When the session is over unless something more comes. */
export function endOf(state: Pick<SessionState, "started_at" | "last_at">): number {
  return Math.min(state.last_at + idleMs, state.started_at + maxSessionMs)
}

export interface Heard {
  readonly artifact: string
  readonly base: Record<string, Json>
  readonly events: readonly SubmittedEvent[]
  readonly batch: Pick<Batch, "clicks" | "touched" | "depth">
  readonly receivedAt: number
  /** The server's time of a browser's. */
  readonly timeOf: (at: number) => number
}

/** What is remembered of a page, apart for test traffic: a team that tries its page does nothing for who visits it. */
export function pageVisit({ pages }: SessionState, artifact: string, isTest: boolean): PageVisit | undefined {
  const visit = pages[keyOf(artifact, isTest)]
  // Sessions that were open before the two were told apart may have test traffic in a visitor's place: that is restarted.
  return visit && isTestVisit(visit) === isTest ? visit : undefined
}

/** Takes a batch into the state (changed in place); returns what follows at once. */
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

/** Notes the depth that the row of the page's view is to have. Senders that report no depth have milestones only. */
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
 * What is left to say of a session that is over: of all of its pages together, since one may lead to another, and apart for
 * test traffic. `leads`: of which traffic the service itself took a lead, test traffic or not.
 */
export function conclude(state: SessionState, leads: ReadonlySet<boolean> = new Set()): DerivedRow[] {
  return [false, true].flatMap((isTest) => {
    const pages = visitsOf(state, isTest)
    const isLead = leads.has(isTest) || pages.some(({ lead }) => lead)
    return [...bails(state, pages), ...(isLead ? [] : abandons(state, pages))]
  })
}

/** The columns of the last row of a session, of whichever page. */
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

/** One, and where the visitor left. */
function bails(state: SessionState, pages: readonly PageVisit[]): DerivedRow[] {
  const max_scroll_depth = Math.max(...pages.map(({ depth }) => depth))
  if (!pages.some(({ viewed }) => viewed) || pages.some(({ clicked }) => clicked) || max_scroll_depth >= bailBelow) return []
  const { base, last_at: at } = pages.reduce((last, page) => (page.last_at < last.last_at ? last : page))
  const columns = { max_scroll_depth, duration_ms: at - Math.min(...pages.map(({ first_at }) => first_at)) }
  return [{ kind: "scroll_bail", number: next(state, "scroll_bail"), at, base, columns }]
}

/** One a form, on the page where it stands. */
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

/** Clicks on calls to action are events, those elsewhere are signals; a burst may be made of both. */
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
