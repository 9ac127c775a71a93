// Paths as operations and routes declare them: `/v1/datasets/{slug}`, and `{key+}` as the last segment for the rest.
import type { AnyOperation } from "../../contract/operation.ts"

const parameter = /^\{(\w+)(\+?)\}$/

/** Matches the path, with or without a slash at its end; parameters are named groups. */
export function patternOf(path: string, flags = ""): RegExp {
  const sources = segmentsOf(path).map((segment) => {
    const [, name, rest] = parameter.exec(segment) ?? []
    if (name === undefined) return segment.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
    return `(?<${name}>${rest ? ".+" : "[^/]+"})`
  })
  return new RegExp(`^/${sources.join("/")}/?$`, flags)
}

/** For express (path-to-regexp 8). */
function expressPath(path: string): string {
  return segmentsOf(path)
    .map((segment) => `/${parameter.test(segment) ? segment.replace(parameter, ":$1") : segment.replace(/[:*?+!()[\]{}\\]/g, "\\$&")}`)
    .join("")
}

/** Sorts literal segments before parameters, position by position, and the rest of a path last. */
export function pathRank(path: string): string {
  return segmentsOf(path)
    .map((segment) => {
      const [, name, rest] = parameter.exec(segment) ?? []
      return name === undefined ? "0" : rest ? "2" : "1"
    })
    .join("")
}

/** The same for two paths that differ in the names of parameters only. */
export function pathKey(method: string, path: string): string {
  return `${method} ${path.replaceAll(/\{\w+(\+?)\}/g, "{$1}")}`
}

function segmentsOf(path: string): string[] {
  return path.split("/").slice(1)
}

// Paths of operations, in the order in which they must be tried: literal segments before parameters.

class Route {
  readonly operation: AnyOperation
  readonly expressPath: string
  #pattern: RegExp | undefined

  constructor(operation: AnyOperation) {
    this.operation = operation
    this.expressPath = expressPath(operation.http.path)
  }

  /** Takes letters in either case, as express does. Made when it is first needed, which is not at the start. */
  get pattern(): RegExp {
    this.#pattern ??= patternOf(this.operation.http.path, "i")
    return this.#pattern
  }
}

/** Throws when two operations answer the same method and path; the message names both. */
export function routesOf(operations: readonly AnyOperation[]): Route[] {
  const taken = new Map<string, string>()
  for (const { name, http } of operations) {
    const key = pathKey(http.method, http.path)
    const other = taken.get(key)
    if (other) throw new Error(`The operations "${other}" and "${name}" both answer ${key}; give one another path.`)
    taken.set(key, name)
  }
  return operations
    .map((operation) => ({ operation, rank: pathRank(operation.http.path) }))
    .sort((left, right) => (left.rank < right.rank ? -1 : Number(left.rank > right.rank)))
    .map(({ operation }) => new Route(operation))
}

/** Methods that this path answers by the route that names it most exactly, HEAD with GET and OPTIONS always; empty when no operation has the path. */
export function allowedMethods(routes: readonly Route[], path: string): string[] {
  // Literal segments stand before parameters.
  const nearest = routes.find(({ pattern }) => pattern.test(path))?.expressPath
  if (nearest === undefined) return []
  const methods = new Set<string>(routes.filter((route) => route.expressPath === nearest).map(({ operation }) => operation.http.method))
  if (methods.has("GET")) methods.add("HEAD")
  return [...methods, "OPTIONS"].sort()
}
