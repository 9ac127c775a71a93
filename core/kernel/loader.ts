// Finds plugins, checks their settings, and orders each plugin after its needs. All problems are collected. The caller refuses
// to boot with the whole list.
import { existsSync, readdirSync } from "node:fs"
import { createRequire } from "node:module"
import { basename, dirname, isAbsolute, join, resolve } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { didYouMean } from "./guess.ts"
import { isRecord } from "./json.ts"
import type { Plugin } from "./plugin.ts"
import { settingProblems } from "./zod-problems.ts"

export interface FoundPlugin<R> {
  readonly plugin: Plugin<R>
  /** Folder or package of the plugin, for messages. */
  readonly from: string
  /** The imported URL or package name. Absent for a plugin passed as a value. */
  readonly entry?: string
}

export interface LoadArgs {
  /** Folders with plugin folders (grouped or not), or npm package names. */
  readonly paths: readonly string[]
  /** Base folders of relative folders: the project's, then the framework's own. */
  readonly roots: readonly string[]
  readonly settings: Readonly<Record<string, unknown>>
}

export interface OrderedPlugin<R> extends FoundPlugin<R> {
  /** Settings, checked. */
  readonly config: unknown
}

/** Returns each plugin once, even if several paths lead to it. */
export async function findPlugins<R>({ paths, roots }: Pick<LoadArgs, "paths" | "roots">, problems: string[]): Promise<FoundPlugin<R>[]> {
  const found: FoundPlugin<R>[] = []
  const seen = new Set<string>()
  for (const path of paths) {
    const folder = isAbsolute(path) ? path : roots.map((root) => resolve(root, path)).find((candidate) => existsSync(candidate))
    if (folder && existsSync(folder)) {
      for (const entry of entriesOf(folder)) {
        if (seen.has(entry)) continue
        seen.add(entry)
        await load(pathToFileURL(entry).href, entry, found, problems)
      }
    } else if (path.startsWith(".") || isAbsolute(path)) problems.push(`plugins.paths names the folder ${path}, which does not exist.`)
    else await loadPackage(path, roots, found, problems)
  }
  return found
}

/** Folders of groups between a path of `plugins.paths` and a plugin: `plugins/capture/actions/NAME`. */
const groupLevels = 2

/** Returns the plugin of the folder, or the plugins in its folders by name. A folder without an entry is a group of plugins. */
function entriesOf(folder: string, levels = groupLevels + 1): string[] {
  const own = entryOf(folder)
  if (own !== undefined) return [own]
  const entries = levels === 0 ? [] : foldersIn(folder).flatMap((inner) => entriesOf(inner, levels - 1))
  return entries.sort((one, other) => nameOf(one).localeCompare(nameOf(other), "en"))
}

function nameOf(entry: string): string {
  return basename(dirname(entry))
}

function entryOf(folder: string): string | undefined {
  return ["index.ts", "index.js"].map((name) => join(folder, name)).find((file) => existsSync(file))
}

function foldersIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== "node_modules" && !entry.name.startsWith("."))
    .map(({ name }) => join(folder, name))
    .sort()
}

/** Searches the project first, then the framework. */
async function loadPackage<R>(name: string, roots: readonly string[], found: FoundPlugin<R>[], problems: string[]): Promise<void> {
  for (const root of roots) {
    const specifier = resolved(name, root)
    if (specifier !== undefined) return load(specifier, `package ${name}`, found, problems)
  }
  problems.push(`plugins.paths names ${name}, which is neither a folder nor an installed package.`)
}

function resolved(name: string, root: string): string | undefined {
  try {
    return pathToFileURL(createRequire(join(root, "package.json")).resolve(name)).href
  } catch (error) {
    // The package is installed, but resolves only by `import` from here.
    return (error as NodeJS.ErrnoException).code === "ERR_PACKAGE_PATH_NOT_EXPORTED" ? name : undefined
  }
}

async function load<R>(specifier: string, from: string, found: FoundPlugin<R>[], problems: string[]): Promise<void> {
  let module: { default?: unknown }
  try {
    module = (await import(specifier)) as { default?: unknown }
  } catch (error) {
    problems.push(`${from} could not be loaded: ${thrownAtLoad(error, specifier)}`)
    return
  }
  for (const plugin of Array.isArray(module.default) ? (module.default as unknown[]) : [module.default]) {
    if (found.some((one) => one.plugin === plugin)) continue
    if (isPlugin<R>(plugin)) found.push({ plugin, from, entry: specifier })
    else problems.push(`${from} does not export a plugin; its default export must be definePlugin({ id, config, register }).`)
  }
}

function isPlugin<R>(value: unknown): value is Plugin<R> {
  const { id, config, register } = (value ?? {}) as Partial<Plugin<R>>
  return typeof id === "string" && typeof register === "function" && typeof config?.safeParse === "function"
}

/** Checks the settings and orders the plugins. Problems go to `problems`. */
export function orderPlugins<R>(
  found: readonly FoundPlugin<R>[],
  settings: LoadArgs["settings"],
  problems: string[],
  /** Dotted paths of settings with a placeholder. */
  unset: readonly string[] = [],
): OrderedPlugin<R>[] {
  const byId = new Map<string, FoundPlugin<R>>()
  for (const one of found) {
    const earlier = byId.get(one.plugin.id)
    if (earlier) problems.push(`Two plugins have the id "${one.plugin.id}": ${earlier.from} and ${one.from}; rename one.`)
    else byId.set(one.plugin.id, one)
  }
  for (const id of Object.keys(settings)) {
    if (!byId.has(id)) problems.push(`plugins.settings.${id}: no plugin has this id.${didYouMean(id, [...byId.keys()])}`)
  }
  const ordered: OrderedPlugin<R>[] = []
  const state = new Map<string, "visiting" | "done">()
  const visit = (one: FoundPlugin<R>, path: readonly string[]): void => {
    const { id } = one.plugin
    if (state.get(id) === "done") return
    if (state.get(id) === "visiting") {
      problems.push(`Plugins have circular dependencies: ${[...path.slice(path.indexOf(id)), id].join(" -> ")}.`)
      return
    }
    state.set(id, "visiting")
    for (const need of one.plugin.needs ?? []) {
      const needed = byId.get(need)
      if (needed) visit(needed, [...path, id])
      else problems.push(`The plugin "${id}" needs "${need}", which is not loaded.${didYouMean(need, [...byId.keys()])}`)
    }
    state.set(id, "done")
    ordered.push({ ...one, config: checkSettings(one.plugin, Object.hasOwn(settings, id) ? settings[id] : undefined, problems, unset) })
  }
  for (const one of byId.values()) visit(one, [])
  return ordered
}

/**
 * Checks the settings. Invalid placeholders are dropped, together with all other settings if the remaining ones are invalid. If
 * an empty config is invalid too, the settings are used unchanged.
 */
function checkSettings<R>(plugin: Plugin<R>, given: unknown, problems: string[], unset: readonly string[]): unknown {
  const value = given ?? {}
  const parsed = plugin.config.safeParse(value)
  if (parsed.success) return parsed.data
  const at = `plugins.settings.${plugin.id}`
  const isUnset = (path: readonly PropertyKey[]) => unset.some((one) => one.startsWith([at, ...path].join(".")))
  const issues = parsed.error.issues.filter(({ path }) => !isUnset(path))
  if (issues.length === 0) {
    const rest = [without(value, parsed.error.issues), {}].map((one) => plugin.config.safeParse(one)).find(({ success }) => success)
    return rest ? rest.data : value
  }
  problems.push(...settingProblems({ schema: plugin.config, value, issues, at }))
  return undefined
}

/** Returns a copy without the values named by the issues. */
function without(value: unknown, issues: readonly { readonly path: readonly PropertyKey[] }[]): unknown {
  const copy: unknown = structuredClone(value)
  for (const { path } of issues) {
    const holder = path.slice(0, -1).reduce<unknown>((at, key) => (isRecord(at) ? at[String(key)] : undefined), copy)
    if (isRecord(holder)) delete holder[String(path.at(-1))]
  }
  return copy
}

// Errors of a module's load, with the file and line for its author.

/** `specifier` is a file URL or a package name. */
function thrownAtLoad(error: unknown, specifier: string): string {
  if (!(error instanceof Error)) return String(error)
  const place = placeOf(error, specifier)
  return place === undefined ? error.message : `${error.message} (${place})`
}

/** Returns `file:line`: the position of a syntax error, otherwise the first call in the module's folder. */
function placeOf({ name, stack = "" }: Error, specifier: string): string | undefined {
  const [first = "", ...rest] = stack.split("\n")
  // Node writes the position of a syntax error above the error, and the stack has no call of the module.
  const parsed = name === "SyntaxError" ? /^(file:\/\/\S+|\/.*):(\d+)$/.exec(first) : null
  if (parsed) return shown(parsed[1] ?? "", parsed[2] ?? "")
  if (!specifier.startsWith("file:")) return undefined
  const folder = dirname(specifier)
  for (const line of rest) {
    const [, file = "", at = ""] = /(file:\/\/[^\s)]+?):(\d+)(?::\d+)?\)?$/.exec(line) ?? []
    if (file.startsWith(`${folder}/`)) return shown(file, at)
  }
  return undefined
}

function shown(file: string, line: string): string {
  return `${file.startsWith("file:") ? fileURLToPath(file.replace(/\?.*$/, "")) : file}:${line}`
}
