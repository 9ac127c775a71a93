// Paths as operations and routes declare them: `/v1/datasets/{slug}`, and `{key+}` as the last segment for the rest.

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
export function expressPath(path: string): string {
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
