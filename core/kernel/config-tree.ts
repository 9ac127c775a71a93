// Configuration as a tree of sections: reads a file, merges trees, and lists leaves with their origins.
import { existsSync, readFileSync } from "node:fs"
import { parse } from "yaml"
import { isRecord } from "./json.ts"

export type Tree = { [key: string]: unknown }

/** The file or variable of each leaf, by dotted path. */
export type Origins = Map<string, string>

/** Reads a file. Adds its problems to `problems`; the tree is then empty. */
export function readTree(file: string, problems: string[]): Tree {
  if (!existsSync(file)) {
    problems.push(`The configuration file ${file} does not exist.`)
    return {}
  }
  try {
    const value = parsedOnce(readFileSync(file, "utf8"))
    if (value === null || value === undefined) return {}
    if (isRecord(value)) return value
    problems.push(`${file}: a configuration is an object of sections, not ${Array.isArray(value) ? "a list" : `a ${typeof value}`}.`)
  } catch (error) {
    problems.push(`${file}: ${(error as Error).message.trimEnd()}`)
  }
  return {}
}

const maxTexts = 8
const parsedTexts = new Map<string, unknown>()

/**
 * Returns a copy of the parsed text, cached by text. A command reads the defaults several times, and parsing takes most of the
 * time.
 */
function parsedOnce(text: string): unknown {
  if (!parsedTexts.has(text)) {
    const value: unknown = parse(text, { prettyErrors: true })
    if (parsedTexts.size === maxTexts) parsedTexts.clear()
    parsedTexts.set(text, value)
  }
  return structuredClone(parsedTexts.get(text))
}

/** Merges one tree into another. Sections merge; other values replace. */
export function merge(into: Tree, over: Tree, origin: string, origins: Origins, prefix = ""): void {
  for (const [key, value] of Object.entries(over)) {
    const path = prefix + key
    const standing = Object.hasOwn(into, key) ? into[key] : undefined
    if (isRecord(value) && isRecord(standing)) merge(standing, value, origin, origins, `${path}.`)
    else replace(into, key, value, path, origin, origins)
  }
}

function replace(into: Tree, key: string, value: unknown, path: string, origin: string, origins: Origins): void {
  Object.defineProperty(into, key, { value, enumerable: true, writable: true, configurable: true })
  for (const known of [...origins.keys()]) if (known === path || known.startsWith(`${path}.`)) origins.delete(known)
  for (const leaf of isRecord(value) ? leaves(value, `${path}.`) : [path]) origins.set(leaf, origin)
  if (isRecord(value) && Object.keys(value).length === 0) origins.set(path, origin)
}

/** Sets a value and creates missing sections. Returns false if a value blocks the path. */
export function put(tree: Tree, path: string, value: unknown, origin: string, origins: Origins): boolean {
  const keys = path.split(".")
  const last = keys.pop() ?? ""
  let at = tree
  for (const key of keys) {
    const next = Object.hasOwn(at, key) ? at[key] : undefined
    if (!isRecord(next)) return false
    at = next
  }
  replace(at, last, value, path, origin, origins)
  return true
}

/** Returns the dotted paths of all values and empty sections. */
export function leaves(tree: Tree, prefix = ""): string[] {
  return Object.entries(tree).flatMap(([key, value]) =>
    isRecord(value) && Object.keys(value).length > 0 ? leaves(value, `${prefix}${key}.`) : [prefix + key],
  )
}

export function originOf(path: string, origins: ReadonlyMap<string, string>): string | undefined {
  return origins.get(path) ?? [...origins].find(([known]) => known.startsWith(`${path}.`) || path.startsWith(`${known}.`))?.[1]
}
