// Derives relations between operations from their paths: a list, its items, the actions on an item, and the lists inside it.
import { areaOf, may, type Operation, operations, type Row } from "./api.ts"
import { hrefOf } from "./place.ts"
import { fieldsOf } from "./schema.ts"

/** Names in the braces of a path. */
export function pathFields({ path }: Operation): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name)
}

/** Returns the path without parameter names. The names differ between operations on the same resource. */
const shapeOf = ({ path }: Operation) => path.replace(/\{\w+\}/g, "{}")

const all = () => operations.value.filter(may)

/** Returns the list field of the response. */
export function listField({ output }: Operation): string | undefined {
  return Object.keys(output).find((name) => output[name] === "array")
}

/** Returns true if the operation returns a list or a page of a list. */
export function isList({ name, readOnly, streams, output }: Operation): boolean {
  const [first, ...siblings] = Object.entries(output)
  const isOnly = /\.list/.test(name) && first?.[1] === "array" && siblings.every(([, type]) => type !== "array")
  return readOnly && !streams && (isOnly || ("next_cursor" in output && Object.values(output).includes("array")))
}

/** Returns the query of the next page. `count`: items of this response from `offset` on. Undefined at the end. */
export function pageAfter(list: Operation, answer: Row, offset: number, count: number): Readonly<Record<string, string>> | undefined {
  const { next_cursor: cursor, total } = answer
  if (typeof cursor === "string" && cursor !== "") return { cursor }
  const end = offset + count
  const isLeft = count > 0 && typeof total === "number" && end < total && fieldsOf(list).some(([name]) => name === "offset")
  return isLeft ? { offset: String(end) } : undefined
}

/** A kind of resource with its own page. It has a reader, or only a list. */
export interface Kind {
  readonly list: Operation | undefined
  readonly reader: Operation | undefined
  /** Path of one resource, without parameter names. */
  readonly shape: string
}

/** Returns the kind of a list's items. Undefined if an item can neither be read nor changed. */
export function kindOf(list: Operation): Kind | undefined {
  const shape = `${shapeOf(list)}/{}`
  const related = all().filter((candidate) => shapeOf(candidate) === shape || shapeOf(candidate).startsWith(`${shape}/`))
  const reader = related.find((match) => match.method === "GET" && shapeOf(match) === shape)
  return related.length > 0 ? { list, reader, shape } : undefined
}

/** Returns the kind of a reader, with its list if one exists. */
export function kindRead(reader: Operation): Kind {
  const shape = shapeOf(reader)
  const list = shape.endsWith("/{}") ? all().find((candidate) => `${shapeOf(candidate)}/{}` === shape && isList(candidate)) : undefined
  return { list, reader, shape }
}

/** Returns the kind directly below its area, with a single name or id: the first listed kind, else the first kind with a reader. */
export function mainKind(area: string): Kind | undefined {
  const inArea = all().filter((candidate) => areaOf(candidate) === area && !candidate.streams)
  const listKinds = inArea
    .filter((candidate) => isList(candidate) && pathFields(candidate).length === 0)
    .flatMap((candidate) => kindOf(candidate) ?? [])
  const readKinds = inArea.filter((candidate) => candidate.method === "GET" && /^[^{]*\/\{\w+\}$/.test(candidate.path)).map(kindRead)
  return [...listKinds, ...readKinds][0]
}

/** Returns the kind of the parent resource, if it has a reader. */
export function kindAbove({ shape }: Kind): Kind | undefined {
  const above = shape.replace(/\/[^/{}]+\/\{\}$/, "")
  const reader = above === shape ? undefined : all().find((candidate) => candidate.method === "GET" && shapeOf(candidate) === above)
  return reader && kindRead(reader)
}

/** Returns the actions on a resource and its contents, without reads. */
export function actionsOf({ shape }: Kind): Operation[] {
  return all().filter((candidate) => !candidate.readOnly && !candidate.streams && isAtOrBelow(shapeOf(candidate), shape))
}

/** Returns the lists inside a resource. */
export function listsWithin({ shape }: Kind): Operation[] {
  return all().filter(
    (candidate) =>
      candidate.method === "GET" && isList(candidate) && isAtOrBelow(shapeOf(candidate), shape) && shapeOf(candidate) !== shape,
  )
}

/** Returns other reads and downloads of a resource. */
export function readsWithin({ shape }: Kind): Operation[] {
  return all().filter(
    (candidate) =>
      candidate.method === "GET" && !isList(candidate) && isAtOrBelow(shapeOf(candidate), shape) && shapeOf(candidate) !== shape,
  )
}

/** Returns the operation for adding to the list. */
export function adderOf(list: Operation): Operation | undefined {
  return all().find((candidate) => candidate.method === "POST" && !candidate.readOnly && shapeOf(candidate) === shapeOf(list))
}

/** Returns operations for creating a resource under a chosen name, if the list has no adding operation. */
export function makersOf(kind: Kind): Operation[] {
  if (!kind.list || adderOf(kind.list)) return []
  return all().filter((candidate) => candidate.method === "PUT" && isOf(candidate, kind) && pathFields(candidate).length === 1)
}

/** Returns the kind created by an operation. Undefined if it adds to no list or the items have no operations. */
export function kindMade(operation: Operation): Kind | undefined {
  const list = all().find((candidate) => isList(candidate) && adderOf(candidate) === operation)
  return list && kindOf(list)
}

/** Returns true for an operation on the resource itself. */
export function isOf(operation: Operation, { shape }: Kind): boolean {
  return shapeOf(operation) === shape
}

function isAtOrBelow(shape: string, top: string): boolean {
  return shape === top || (shape.startsWith(`${top}/`) && !shape.slice(top.length).includes("{}"))
}

/** Maps the operation's path fields to these values, in order. */
export function pathInput(operation: Operation, values: readonly string[]): Record<string, string> {
  return Object.fromEntries(pathFields(operation).flatMap((name, index) => (values[index] === undefined ? [] : [[name, values[index]]])))
}

/** Returns the identifier of a row in its path: the path field, else a typical name field. */
export function idOf(row: Row, { reader, shape }: Kind): string {
  const example = reader ?? all().find((candidate) => shapeOf(candidate).startsWith(shape))
  const field = example ? (pathFields(example)[shape.split("{}").length - 2] ?? "id") : "id"
  const names = [field, ...Object.keys(row).filter((name) => name.endsWith(`_${field}`)), "slug", "key", "domain", "number", "id"]
  const identifier = names
    .map((name) => row[name])
    .find((value) => (typeof value === "string" && value !== "") || typeof value === "number")
  return String(identifier ?? "")
}

/** The main kind of an area is directly below the area. Other kinds are addressed by the operation of their read. */
export function hrefOfOne(kind: Kind, values: readonly string[]): string {
  const by = kind.reader ?? kind.list
  if (!by) return hrefOf([])
  const area = areaOf(by)
  const [id = ""] = values
  if (values.length === 1 && mainKind(area)?.shape === kind.shape) return hrefOf([area, id])
  const input = kind.reader ? pathInput(by, values) : { ...pathInput(by, values), id: values.at(-1) ?? "" }
  return hrefOf([area, "-", by.name], input)
}
