// Reads and checks the arguments of `npm run bench`.
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
  /** Measures only the cost of each feature per event. */
  readonly ledger: boolean
  /** Measures only the store, at this size. */
  readonly rows: number | undefined
  /** Number of page events for analytics. */
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
