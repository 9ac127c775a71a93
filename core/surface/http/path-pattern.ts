// Paths of operations and routes: `/v1/datasets/{slug}`. A last segment `{key+}` matches the rest of the path.
import type { AnyOperation } from "../../contract/operation.ts"

const parameter = /^\{(\w+)(\+?)\}$/

/** Matches the path, with or without a trailing slash. Parameters are named groups. */
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

/** Sort key: literal segments before parameters at each position, the rest of a path last. */
export function pathRank(path: string): string {
  return segmentsOf(path)
    .map((segment) => {
      const [, name, rest] = parameter.exec(segment) ?? []
      return name === undefined ? "0" : rest ? "2" : "1"
    })
    .join("")
}

/** Equal for two paths with different parameter names only. */
export function pathKey(method: string, path: string): string {
  return `${method} ${path.replaceAll(/\{\w+(\+?)\}/g, "{$1}")}`
}

function segmentsOf(path: string): string[] {
  return path.split("/").slice(1)
}

// Routes of operations in matching order: literal segments before parameters.

class Route {
  readonly operation: AnyOperation
  readonly expressPath: string
  #pattern: RegExp | undefined

  constructor(operation: AnyOperation) {
    this.operation = operation
    this.expressPath = expressPath(operation.http.path)
  }

  /** Ignores case, like express. Compiled on first use to keep the start fast. */
  get pattern(): RegExp {
    this.#pattern ??= patternOf(this.operation.http.path, "i")
    return this.#pattern
  }
}

/** Throws if two operations share a method and path. The message names both. */
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

/**
 * Returns the methods of the most specific route for this path, with OPTIONS, and HEAD if GET is present. Empty for an unknown
 * path.
 */
export function allowedMethods(routes: readonly Route[], path: string): string[] {
  // Literal segments come before parameters.
  const nearest = routes.find(({ pattern }) => pattern.test(path))?.expressPath
  if (nearest === undefined) return []
  const methods = new Set<string>(routes.filter((route) => route.expressPath === nearest).map(({ operation }) => operation.http.method))
  if (methods.has("GET")) methods.add("HEAD")
  return [...methods, "OPTIONS"].sort()
}
