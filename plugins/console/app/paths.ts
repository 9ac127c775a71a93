// How operations belong together, told by their paths alone: a list, what it lists, what can be done with one of that, and
// the lists within it.
import { areaOf, may, type Operation, operations, type Row } from "./api.ts"
import { hrefOf } from "./place.ts"
import { fieldsOf } from "./schema.ts"

/** Names in the braces of a path. */
export function pathFields({ path }: Operation): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name)
}

/** The path without the names in its braces, which differ between operations on the same. */
const shapeOf = ({ path }: Operation) => path.replace(/\{\w+\}/g, "{}")

const all = () => operations.value.filter(may)

/** The field of the answer that holds the list. */
export function listField({ output }: Operation): string | undefined {
  return Object.keys(output).find((name) => output[name] === "array")
}

/** Answers a page of a list, or a whole one. */
export function isList({ name, readOnly, streams, output }: Operation): boolean {
  const [first, ...siblings] = Object.entries(output)
  const isOnly = /\.list/.test(name) && first?.[1] === "array" && siblings.every(([, type]) => type !== "array")
  return readOnly && !streams && (isOnly || ("next_cursor" in output && Object.values(output).includes("array")))
}

/** What asks for the page after this answer, which holds so many from `offset` on; undefined at the end. */
export function pageAfter(list: Operation, answer: Row, offset: number, count: number): Readonly<Record<string, string>> | undefined {
  const { next_cursor: cursor, total } = answer
  if (typeof cursor === "string" && cursor !== "") return { cursor }
  const end = offset + count
  const isLeft = count > 0 && typeof total === "number" && end < total && fieldsOf(list).some(([name]) => name === "offset")
  return isLeft ? { offset: String(end) } : undefined
}

/** Something that can be looked at by itself: what reads it, or the list that it stands in, where nothing does. */
export interface Kind {
  readonly list: Operation | undefined
  readonly reader: Operation | undefined
  /** The path of one, without the names in its braces. */
  readonly shape: string
}

/** What a list lists; undefined where one of it can neither be read nor changed. */
export function kindOf(list: Operation): Kind | undefined {
  const shape = `${shapeOf(list)}/{}`
  const related = all().filter((candidate) => shapeOf(candidate) === shape || shapeOf(candidate).startsWith(`${shape}/`))
  const reader = related.find((match) => match.method === "GET" && shapeOf(match) === shape)
  return related.length > 0 ? { list, reader, shape } : undefined
}

/** What a reader reads, within its list where there is one. */
export function kindRead(reader: Operation): Kind {
  const shape = shapeOf(reader)
  const list = shape.endsWith("/{}") ? all().find((candidate) => `${shapeOf(candidate)}/{}` === shape && isList(candidate)) : undefined
  return { list, reader, shape }
}

/** What stands right below its area, by one name or id: the first that the area lists, or reads. */
export function mainKind(area: string): Kind | undefined {
  const inArea = all().filter((candidate) => areaOf(candidate) === area && !candidate.streams)
  const listKinds = inArea
    .filter((candidate) => isList(candidate) && pathFields(candidate).length === 0)
    .flatMap((candidate) => kindOf(candidate) ?? [])
  const readKinds = inArea.filter((candidate) => candidate.method === "GET" && /^[^{]*\/\{\w+\}$/.test(candidate.path)).map(kindRead)
  return [...listKinds, ...readKinds][0]
}

/** What one stands in, where that can be read by itself. */
export function kindAbove({ shape }: Kind): Kind | undefined {
  const above = shape.replace(/\/[^/{}]+\/\{\}$/, "")
  const reader = above === shape ? undefined : all().find((candidate) => candidate.method === "GET" && shapeOf(candidate) === above)
  return reader && kindRead(reader)
}

/** What can be done with one, and with all that it holds: not what reads it. */
export function actionsOf({ shape }: Kind): Operation[] {
  return all().filter((candidate) => !candidate.readOnly && !candidate.streams && isAtOrBelow(shapeOf(candidate), shape))
}

/** Lists within one. */
export function listsWithin({ shape }: Kind): Operation[] {
  return all().filter(
    (candidate) =>
      candidate.method === "GET" && isList(candidate) && isAtOrBelow(shapeOf(candidate), shape) && shapeOf(candidate) !== shape,
  )
}

/** What else of one can be looked at or kept as a file. */
export function readsWithin({ shape }: Kind): Operation[] {
  return all().filter(
    (candidate) =>
      candidate.method === "GET" && !isList(candidate) && isAtOrBelow(shapeOf(candidate), shape) && shapeOf(candidate) !== shape,
  )
}

/** Adds to the list. */
export function adderOf(list: Operation): Operation | undefined {
  return all().find((candidate) => candidate.method === "POST" && !candidate.readOnly && shapeOf(candidate) === shapeOf(list))
}

/** Makes one under a name that it is given, where nothing adds to the list. */
export function makersOf(kind: Kind): Operation[] {
  if (!kind.list || adderOf(kind.list)) return []
  return all().filter((candidate) => candidate.method === "PUT" && isOf(candidate, kind) && pathFields(candidate).length === 1)
}

/** What an operation adds one of; undefined where it adds to no list, or nothing can be done with one of it. */
export function kindMade(operation: Operation): Kind | undefined {
  const list = all().find((candidate) => isList(candidate) && adderOf(candidate) === operation)
  return list && kindOf(list)
}

/** Is of one of the kind itself, and of nothing within it. */
export function isOf(operation: Operation, { shape }: Kind): boolean {
  return shapeOf(operation) === shape
}

function isAtOrBelow(shape: string, top: string): boolean {
  return shape === top || (shape.startsWith(`${top}/`) && !shape.slice(top.length).includes("{}"))
}

/** The operation's path fields with these values, in their order. */
export function pathInput(operation: Operation, values: readonly string[]): Record<string, string> {
  return Object.fromEntries(pathFields(operation).flatMap((name, index) => (values[index] === undefined ? [] : [[name, values[index]]])))
}

/** What stands for a row in the path of its kind: the field of that name, else the one that names it. */
export function idOf(row: Row, { reader, shape }: Kind): string {
  const example = reader ?? all().find((candidate) => shapeOf(candidate).startsWith(shape))
  const field = example ? (pathFields(example)[shape.split("{}").length - 2] ?? "id") : "id"
  const names = [field, ...Object.keys(row).filter((name) => name.endsWith(`_${field}`)), "slug", "key", "domain", "number", "id"]
  const identifier = names
    .map((name) => row[name])
    .find((value) => (typeof value === "string" && value !== "") || typeof value === "number")
  return String(identifier ?? "")
}

/** The main kind of an area stands right below it; others are told by the operation that reads them. */
export function hrefOfOne(kind: Kind, values: readonly string[]): string {
  const by = kind.reader ?? kind.list
  if (!by) return hrefOf([])
  const area = areaOf(by)
  const [id = ""] = values
  if (values.length === 1 && mainKind(area)?.shape === kind.shape) return hrefOf([area, id])
  const input = kind.reader ? pathInput(by, values) : { ...pathInput(by, values), id: values.at(-1) ?? "" }
  return hrefOf([area, "-", by.name], input)
}
