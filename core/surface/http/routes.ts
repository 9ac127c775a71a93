// Paths of operations, in the order in which they must be tried: literal segments before parameters.
import type { AnyOperation } from "../../contract/operation.ts"
import { expressPath, pathKey, pathRank, patternOf } from "./path-pattern.ts"

export interface Route {
  readonly operation: AnyOperation
  readonly expressPath: string
  /** Takes letters in either case, as express does. */
  readonly pattern: RegExp
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
    .toSorted((left, right) => pathRank(left.http.path).localeCompare(pathRank(right.http.path)))
    .map((operation) => ({ operation, expressPath: expressPath(operation.http.path), pattern: patternOf(operation.http.path, "i") }))
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
