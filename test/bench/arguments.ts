// The arguments of `npm run bench`, read and checked.
import { parseArgs } from "node:util"
import { BenchProblem } from "./options.ts"

export interface BenchArguments {
  readonly only: string
  readonly seconds: number
  readonly runs: number | undefined
  readonly json: string | undefined
  readonly writeDocs: boolean
  readonly peers: boolean
  readonly profile: boolean
  /** What each feature adds to the cost of an event, and nothing else. */
  readonly ledger: boolean
  /** Set where the store at this size is to be measured, and nothing else. */
  readonly rows: number | undefined
  /** Page events that analytics are measured with. */
  readonly events: number
  readonly userAgents: string | undefined
  readonly misses: boolean
}

const defaultRows = 10_000_000

export function readArguments(): BenchArguments {
  const { values } = parsed()
  const rows = number("rows", values.rows) ?? (values.only?.startsWith("storage/size") ? defaultRows : undefined)
  return {
    only: values.only ?? "",
    seconds: number("seconds", values.seconds) ?? 5,
    runs: number("runs", values.runs),
    json: values.json,
    writeDocs: values["write-docs"] === true,
    peers: values.peers === true,
    profile: values.profile === true,
    ledger: values.ledger === true,
    rows,
    events: number("events", values.events) ?? 1_000_000,
    userAgents: values["user-agents"],
    misses: values.misses === true,
  }
}

function parsed() {
  try {
    return parseArgs({
      options: {
        only: { type: "string" },
        seconds: { type: "string" },
        runs: { type: "string" },
        json: { type: "string" },
        "write-docs": { type: "boolean" },
        peers: { type: "boolean" },
        profile: { type: "boolean" },
        ledger: { type: "boolean" },
        rows: { type: "string" },
        events: { type: "string" },
        "user-agents": { type: "string" },
        misses: { type: "boolean" },
      },
    })
  } catch (cause) {
    throw new BenchProblem(`${(cause as Error).message}. docs/performance.md tells what the bench takes.`, { cause })
  }
}

function number(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text.replaceAll("_", ""))
  if (Number.isInteger(value) && value > 0) return value
  throw new BenchProblem(`--${name} takes a whole number from 1 up, and was given "${text}".`)
}
