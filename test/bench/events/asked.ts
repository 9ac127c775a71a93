// Measures the console's requests over a full store, from outside the service.
import { timestamp } from "#core"
import { BenchProblem } from "../options.ts"
import type { ProcessTree } from "../service/cpu.ts"
import { type Row, rowOf } from "../table.ts"
import { days, emailOf, type Full, orderOf, pageOf, pipelines, rareWordOf, requestIdOf } from "./full-store.ts"

const goalMs = 100
const warm = 10
const runs = 60
const dayMs = 86_400_000

export interface QueryBench {
  readonly service: { readonly url: string; readonly tree: ProcessTree }
  readonly key: string
  readonly full: Full
  /** Prefix of the rows. */
  readonly area: string
  readonly wanted: (name: string) => boolean
  readonly note: (text: string) => void
}

/** One request per run, with its expected answer. */
interface Question {
  readonly path: (run: number) => string
  /** Minimum number of items in every answer. */
  readonly least?: number
  readonly status?: number
}

export async function* askedRows(bench: QueryBench): AsyncGenerator<Row> {
  const { service, area, note } = bench
  for (const [name, question] of Object.entries(await questions(bench))) {
    if (!bench.wanted(`${area}${name}`)) continue
    note(`${area}${name}`)
    for (let run = 0; run < warm; run++) await ask(bench, name, question, run)
    const took: number[] = []
    const before = service.tree.cpuUs()
    for (let run = 0; run < runs; run++) {
      const from = performance.now()
      await ask(bench, name, question, run)
      took.push(performance.now() - from)
    }
    const cpu = (service.tree.cpuUs() - before) / runs / 1_000
    const p95 = took.toSorted((a, b) => a - b)[Math.ceil(runs * 0.95) - 1] ?? Number.NaN
    yield rowOf(
      `${area}${name}`,
      "ms",
      took,
      "goal",
      [goalMs],
      `95 of 100 within ${p95.toFixed(1)} ms; ${cpu.toFixed(1)} ms of the service's CPU`,
    )
  }
}

async function ask(bench: QueryBench, name: string, { path, least = 0, status = 200 }: Question, run: number): Promise<void> {
  const { answer, text } = await get(bench, path(run))
  if (answer !== status) throw new BenchProblem(`${name}: GET ${path(run)} was answered ${answer}: ${text.slice(0, 300)}`)
  if (least === 0) return
  const [items] = Object.values(JSON.parse(text) as object).filter(Array.isArray)
  if ((items?.length ?? 0) < least) throw new BenchProblem(`${name}: GET ${path(run)} found ${items?.length ?? 0}, and ${least} are there`)
}

async function get({ service, key }: QueryBench, path: string): Promise<{ answer: number; text: string }> {
  const answer = await fetch(service.url + path, { headers: { authorization: `Bearer ${key}` } })
  return { answer: answer.status, text: await answer.text() }
}

async function questions(bench: QueryBench): Promise<Record<string, Question>> {
  const { events, began } = bench.full
  const middle = timestamp(began + (days / 2) * dayMs)
  const nearMiddle = timestamp(began + (days / 2) * dayMs + 3_600_000)
  const newest = JSON.parse((await get(bench, "/v1/events?limit=100")).text) as { events: { id: string }[]; next_cursor: string }
  const spread = (run: number) => Math.floor((run / runs) * (events - 1))
  const list = (query: string, least = 1): Question => ({ path: () => `/v1/events?limit=100${query}`, least })
  const find = (text: (n: number) => string, least = 1): Question => ({
    path: (run) => `/v1/events/find?limit=100&text=${encodeURIComponent(text(spread(run)))}`,
    least,
  })
  const id = (run: number) => newest.events[run % newest.events.length]?.id ?? ""
  const rows = (query: string, least = 1): Question => ({ path: () => `/v1/datasets/leads/rows?limit=200${query}`, least })
  const filter = (value: object) => `&filter=${encodeURIComponent(JSON.stringify(value))}`
  const plain = (path: string, least = 0): Question => ({ path: () => path, least })
  return {
    list: list("", 100),
    "list/next": list(`&cursor=${encodeURIComponent(newest.next_cursor)}`, 100),
    "list/failed": list("&status=failed", 100),
    "list/accepted": list("&status=accepted", 100),
    "list/rejected": list("&status=rejected", 0),
    "list/tests": list("&is_test=true", 100),
    "list/no-tests": list("&is_test=false", 100),
    "list/failed-tests": list("&status=failed&is_test=true", 1),
    "list/cause": list("&cause=action_failed", 100),
    "list/cause-failed-tests": list("&cause=action_failed&status=failed&is_test=true", 1),
    "list/unknown-cause": list("&cause=no_such_cause", 0),
    "list/until": list(`&until=${middle}`, 100),
    "list/hour": list(`&since=${middle}&until=${nearMiddle}`, 100),
    "list/hour-failed": list(`&since=${middle}&until=${nearMiddle}&status=failed`, 1),
    "list/since-rejected": list(`&since=${middle}&status=rejected`, 0),
    "list/half-of-all": list("&pipeline=p-0", 100),
    "list/half-of-all-failed": list("&pipeline=p-0&status=failed", 100),
    "list/half-of-all-cause": list("&pipeline=p-0&cause=action_failed", 100),
    "list/half-of-all-unknown-cause": list("&pipeline=p-0&cause=no_such_cause", 0),
    "list/pipeline": { path: (run) => `/v1/events?limit=100&pipeline=p-${1 + run}`, least: 1 },
    "list/pipeline-failed": { path: (run) => `/v1/events?limit=100&pipeline=p-${1 + run}&status=failed`, least: 1 },
    "list/pipeline-unknown-cause": { path: (run) => `/v1/events?limit=100&pipeline=p-${1 + run}&cause=no_such_cause` },
    "find/id": { path: (run) => `/v1/events/find?text=${id(run)}`, least: 1 },
    "find/email": find(emailOf),
    "find/order": find(orderOf),
    "find/request-id": find(requestIdOf),
    "find/url": find(pageOf),
    "find/rare-word": find(rareWordOf, 4),
    "find/common-words": find(() => "Ada Lovelace", 100),
    "find/one-in-fifty": find(() => "spring sale", 100),
    "find/rare-and-common": find((n) => `Ada Lovelace ${orderOf(n)}`),
    "find/piece": find((n) => `"order":"${orderOf(n)}","campaign"`),
    "find/nothing": find((n) => `nowhere${n}`, 0),
    "find/nothing-of-common-words": find(() => "Ada accepted nowhere", 0),
    "one/event": { path: (run) => `/v1/events/${id(run)}` },
    "one/replays": { path: (run) => `/v1/events/${id(run)}/replays` },
    "one/report": { path: (run) => `/v1/events/${id(run)}/report` },
    "pipelines/first": plain("/v1/event-pipelines?limit=100", 100),
    "pipelines/by-state": plain("/v1/event-pipelines?limit=100&state=active&source_kind=internal", 100),
    "pipelines/none-by-state": plain("/v1/event-pipelines?limit=100&state=proposed"),
    "pipelines/activity-hour": plain("/v1/event-activity?minutes=60", 60),
    "pipelines/activity-day": plain("/v1/event-activity?minutes=1440", 1_440),
    "pipelines/graph": { path: (run) => `/v1/event-pipelines/p-${run % pipelines}/graph` },
    "pipelines/drift": { path: (run) => `/v1/event-pipelines/p-${run % pipelines}/drift` },
    "rows/datasets": plain("/v1/datasets?limit=100", 1),
    "rows/first": rows("", 200),
    "rows/oldest": rows("&sort=created_at", 200),
    "rows/by-time": rows(filter({ created_at: { $lte: middle } }), 200),
    "rows/by-key": { path: (run) => `/v1/datasets/leads/rows?limit=200${filter({ email: `ada.${run * 7}@example.com` })}`, least: 1 },
    "rows/hour-by-value": rows(filter({ created_at: { $gte: middle, $lt: nearMiddle }, budget: { $gte: 50_000 } }), 100),
    "rows/hour-sorted": rows(`${filter({ created_at: { $gte: middle, $lt: nearMiddle } })}&sort=-budget`, 200),
    "rows/by-value-refused": { ...rows(filter({ budget: 7 }), 0), status: 400 },
    "rows/sorted-refused": { ...rows("&sort=-budget", 0), status: 400 },
    "overview/approvals": plain("/v1/approvals?state=pending&limit=200"),
    "overview/jobs-dead": plain("/v1/jobs?state=dead&limit=200"),
    "overview/jobs-queued": plain("/v1/jobs?state=queued&limit=200"),
    "overview/connections": plain("/v1/integrations?limit=200"),
    "overview/domains": plain("/v1/sending-domains?limit=200"),
    "overview/experiments": plain("/v1/experiments?status=running"),
  }
}
