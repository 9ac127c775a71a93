// Writes rows as JSON lines, one file per day, for the sealing process. Values are unchanged.
// Values without a typed column go to `properties`, so queries can read the whole row.
import { appendFile, rm } from "node:fs/promises"
import type { Json } from "#core"
import type { Row } from "../../../data/datasets/index.ts"
import { blankWhenAbsent, rowColumns } from "../event-columns.ts"

const flushAt = 1_048_576

interface Day {
  readonly day: string
  readonly path: string
  text: string
  rows: number
}

export class RowLines {
  readonly #draft: () => string
  /** Rows added so far. */
  rows = 0
  readonly #days = new Map<string, Day>()
  #last: Day | undefined

  constructor(draft: () => string) {
    this.#draft = draft
  }

  /** Await the result if it is a promise: only some calls write to a file. */
  add(row: Row): Promise<void> | undefined {
    const day = row.created_at.slice(0, 10)
    const of = this.#last?.day === day ? this.#last : this.#of(day)
    const line = lineOf(row)
    this.rows++
    of.text += line
    of.rows++
    return of.text.length >= flushAt ? this.#flush(of) : undefined
  }

  #of(day: string): Day {
    const of = this.#days.get(day) ?? { day, path: this.#draft(), text: "", rows: 0 }
    this.#days.set(day, of)
    this.#last = of
    return of
  }

  /** Returns the completed files. */
  async finish(): Promise<{ readonly day: string; readonly path: string; readonly rows: number }[]> {
    for (const of of this.#days.values()) await this.#flush(of)
    return [...this.#days].map(([day, { path, rows }]) => ({ day, path, rows }))
  }

  async discard(): Promise<void> {
    for (const { path } of this.#days.values()) await rm(path, { force: true })
  }

  async #flush(of: Day): Promise<void> {
    const { text } = of
    of.text = ""
    await appendFile(of.path, text, { mode: 0o600 })
  }
}

/** Builds the JSON by hand from constant parts. This takes a third of the time of an object and JSON.stringify. */
export function lineOf({ id, created_at, updated_at, values }: Row): string {
  let line = `{"row_id":${jsonOf(id)},"received_at":${jsonOf(created_at)},"updated_at":${jsonOf(updated_at)}`
  let properties: Record<string, Json> | undefined
  for (const name in values) {
    const value = values[name]
    if (value === undefined || value === null) continue
    const start = starts.get(name)
    if (start === undefined) {
      properties ??= {}
      properties[name] = value
    } else if (value !== "" || !blankWhenAbsent(name)) line += start + jsonOf(value)
  }
  if (properties) line += `,"properties":${JSON.stringify(JSON.stringify(properties))}`
  return `${line}}\n`
}

const starts = new Map(rowColumns.map(({ name }) => [name, `,${JSON.stringify(name)}:`]))
const needsNoEscape = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/

function jsonOf(value: Json): string {
  return typeof value === "string" && needsNoEscape.test(value) ? `"${value}"` : JSON.stringify(value)
}
