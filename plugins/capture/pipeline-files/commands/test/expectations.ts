// Compares the effects of one event with the expectations of its test.
import type { Json } from "#core"
import { asJson, type Difference, differences, type EventOutcome, type Expectations, type HarnessRow } from "#core/commands"
import type { OutgoingCall, OutgoingMail } from "#core/engine"
import { bareDataset } from "../../../../data/datasets/index.ts"
export function unmet(expect: Expectations, outcome: EventOutcome): Difference[] {
  const { entry, response, rows, mails, calls, broadcasts } = outcome
  const found: Difference[] = []
  const check = (expected: Json | undefined, actual: Json | undefined, at: string): void => {
    if (expected !== undefined) found.push(...differences(expected, actual, at))
  }
  check(expect.verdict, entry.verdict.ok ? "verified" : entry.verdict.cause, "verdict")
  check(expect.status, entry.status, "status")
  check(plain(expect.response), plain({ ...response, headers: { ...response.headers } }), "response")
  if (expect.rows) {
    // Dataset names in the style of pipelines: `leads` or `acme.leads`.
    const expected = Object.fromEntries(Object.entries(expect.rows).map(([dataset, values]) => [bareDataset(dataset), values]))
    check(named(expected, rows), byDataset(rows, Object.keys(expected)), "rows")
  }
  check(
    plain(expect.emails?.map((mail) => ({ ...mail, ...(typeof mail.to === "string" ? { to: [mail.to] } : {}) }))),
    plain(mails.map(shownMail)),
    "emails",
  )
  check(plain(expect.calls), plain(calls.map(shownCall)), "calls")
  check(plain(expect.broadcasts), plain(broadcasts), "broadcasts")
  check(plain(expect.journal), plain(entry), "journal")
  return found
}

/** Returns a JSON copy, without undefined fields. */
function plain(value: unknown): Json | undefined {
  return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as Json)
}

function named(expected: NonNullable<Expectations["rows"]>, rows: readonly HarnessRow[]): Json {
  const unnamed = rows.map(({ dataset }) => dataset).filter((dataset) => !(dataset in expected))
  return { ...expected, ...Object.fromEntries(unnamed.map((dataset) => [dataset, []])) }
}

function byDataset(rows: readonly HarnessRow[], datasets: readonly string[]): Json {
  const out: Record<string, Json[]> = Object.fromEntries(datasets.map((dataset) => [dataset, []]))
  for (const { dataset, values } of rows) out[dataset] = [...(out[dataset] ?? []), values]
  return out
}

function shownMail(mail: OutgoingMail): Json {
  return { ...mail, to: [...mail.to], cc: [...mail.cc], bcc: [...mail.bcc], reply_to: [...mail.reply_to] }
}

function shownCall({ method, url, headers, body }: OutgoingCall): Json {
  return { method, url, headers: { ...headers }, body: body === null ? null : asJson(body) }
}
