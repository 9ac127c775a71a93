// Paths of operations: `/v1/datasets/{slug}` as a pattern, as an express route, and in the order in which they must be
// tried (literal segments before parameters).
import type { AnyOperation } from "../../contract/operation.ts"

export interface Route {
  readonly operation: AnyOperation
  /** For express (path-to-regexp 8). */
  readonly expressPath: string
  /** Takes letters in either case, as express does. */
  readonly pattern: RegExp
}

/** Throws when two operations answer the same method and path; the message names both. */
export function routesOf(operations: readonly AnyOperation[]): Route[] {
  const taken = new Map<string, string>()
  for (const { name, http } of operations) {
    const key = `${http.method} ${http.path.replaceAll(/\{\w+\}/g, "{}")}`
    const other = taken.get(key)
    if (other) throw new Error(`The operations "${other}" and "${name}" both answer ${key}; give one another path.`)
    taken.set(key, name)
  }
  return operations.map(routeOf).sort((left, right) => rank(left.operation.http.path).localeCompare(rank(right.operation.http.path)))
}

/** Methods that this path answers by the route that names it most exactly, HEAD with GET and OPTIONS always; empty when no operation has the path. */
export function allowedMethods(routes: readonly Route[], path: string): string[] {
  // Literal segments stand before parameters.
  const nearest = routes.find(({ pattern }) => pattern.test(path))?.expressPath
  if (nearest === undefined) return []
  const methods = new Set<string>(routes.filter(({ expressPath }) => expressPath === nearest).map(({ operation }) => operation.http.method))
  if (methods.has("GET")) methods.add("HEAD")
  return [...methods, "OPTIONS"].sort()
}

function routeOf(operation: AnyOperation): Route {
  const segments = operation.http.path.split("/").slice(1)
  const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
  return {
    operation,
    expressPath: segments
      .map((segment) => `/${parameterOf(segment) ? `:${parameterOf(segment)}` : segment.replace(/[:*?+!()[\]{}\\]/g, "\\$&")}`)
      .join(""),
    pattern: new RegExp(`^${segments.map((segment) => `/${parameterOf(segment) ? "[^/]+" : escaped(segment)}`).join("")}/?$`, "i"),
  }
}

function parameterOf(segment: string): string | undefined {
  return /^\{(\w+)\}$/.exec(segment)?.[1]
}

/** Sorts literal segments before parameters, position by position. */
function rank(path: string): string {
  return path
    .split("/")
    .map((segment) => (parameterOf(segment) === undefined ? "0" : "1"))
    .join("")
}
