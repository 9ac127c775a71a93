// Derives the fields of events from the request schema and the transform's source, and checks templates against them. An
// impossible field is an error. A near match of a listed field is a warning.
import type { KnownEvent } from "../../contract/action.ts"
import { nearest } from "../../kernel/guess.ts"
import { isRecord } from "../../kernel/json.ts"
import type { Report } from "../compile/report.ts"
import type { PipelineDocument } from "../document.ts"
import { finding } from "../findings.ts"
import type { ResultFields } from "../sandbox/sandbox.ts"
import type { PlacedRead } from "../template.ts"
import { hintOf } from "./reads.ts"

export interface EventFields {
  /** Fields of the body according to the schema. */
  readonly payload: KnownFields | undefined
  /** Fields of the steps' event. */
  readonly event: KnownFields | undefined
}

interface KnownFields extends KnownEvent {
  /** Name of the source for messages. */
  readonly from: string
  /** Returns the fields within a field. */
  readonly within: (name: string) => KnownFields | undefined
}

/** Keys of Liquid for lists and texts. */
const ofLiquid = ["size", "first", "last"]
/** Shorter words resemble too many others. */
const minGuessable = 4

export function eventFieldsOf({ request_schema, transform_js }: PipelineDocument, result: ResultFields | null): EventFields {
  const payload = fieldsOfSchema(request_schema)
  if (transform_js === null) return { payload, event: payload }
  if (result === null) return { payload, event: undefined }
  const { names, withEvent, exact } = result
  return {
    payload,
    event: {
      names: withEvent ? [...new Set([...names, ...(payload?.names ?? [])])] : names,
      exact: exact && (!withEvent || payload?.exact === true),
      from: "the transform",
      within: () => undefined,
    },
  }
}

function fieldsOfSchema(schema: unknown): KnownFields | undefined {
  if (!isRecord(schema)) return undefined
  const { properties, additionalProperties, patternProperties, items } = schema
  if (isRecord(properties)) {
    return {
      names: Object.keys(properties),
      exact: additionalProperties === false && patternProperties === undefined,
      from: "the request schema",
      within: (name) => (Object.hasOwn(properties, name) ? fieldsOfSchema(properties[name]) : undefined),
    }
  }
  const ofItems = fieldsOfSchema(items)
  return ofItems && { names: [], exact: false, from: "", within: () => ofItems }
}

/** `saved`: the document ran before this check existed, so errors become warnings. */
export function lintEventReads(reads: readonly PlacedRead[], fields: EventFields, saved: boolean, report: Report): void {
  for (const read of reads) {
    if (read.root !== "event" && read.root !== "payload") continue
    const unknown = unknownIn(read, fields[read.root])
    if (!unknown) continue
    const { name, field, known } = unknown
    if (known.exact) {
      const message = `"${name}" never has a value: ${known.from} gives no such field.${hintOf(field, known.names)}`
      const found = finding("template-never-resolves", read.pointer, message)
      report.push(saved ? { ...found, level: "warning" } : found)
      continue
    }
    const guessable = known.names.filter((one) => one.length >= minGuessable)
    const meant = nearest(field, guessable)
    if (meant === undefined) continue
    report.add("misspelled-event-field", read.pointer, `"${name}" is not a field that ${known.from} lists. Did you mean "${meant}"?`)
  }
}

/** Returns the first unknown part of a read. */
function unknownIn(
  { root, path }: PlacedRead,
  fields: KnownFields | undefined,
): { name: string; field: string; known: KnownFields } | undefined {
  let known = fields
  for (const [index, key] of path.entries()) {
    if (!known) return undefined
    const field = String(key)
    const isListed = known.names.includes(field)
    if (!isListed && typeof key === "string" && !ofLiquid.includes(key)) {
      return { name: [root, ...path.slice(0, index + 1)].join("."), field, known }
    }
    known = known.within(field)
  }
  return undefined
}
