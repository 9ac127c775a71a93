// Loads the configuration: config/default.yaml, then the project's config/millrace.yaml or the MILLRACE_CONFIG file, then
// variables. Unknown keys are errors with a suggestion. All problems are reported together, and each value has its origin.
import { existsSync } from "node:fs"
import { join, relative } from "node:path"
import { CoreConfig } from "./config-schema.ts"
import { leaves, merge, type Origins, originOf, put, readTree, type Tree } from "./config-tree.ts"
import { didYouMean } from "./guess.ts"
import { isRecord, jsonOrText, valueAt } from "./json.ts"
import { settingProblems } from "./zod-problems.ts"

export { type CoreConfig, Settings } from "./config-schema.ts"

export interface LoadedConfig {
  readonly config: CoreConfig
  /** The file or variable of each leaf, by dotted path. */
  readonly origins: ReadonlyMap<string, string>
}

/** All problems of a boot in one error. */
export class BootError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(
      problems.length === 1
        ? (problems[0] ?? "")
        : `${problems.length} problems:\n${problems.map((problem) => `  - ${problem}`).join("\n")}`,
    )
    this.name = "BootError"
    this.problems = problems
  }
}

/** Variables with a special name. All others are MILLRACE_ and the path. */
const shortNames: Readonly<Record<string, string>> = {
  PORT: "server.port",
  HOST: "server.host",
  MILLRACE_PUBLIC_URL: "server.public_url",
  MILLRACE_TRUST_PROXY: "server.trust_proxy",
}

/** Variables outside the settings. */
const otherNames = /^MILLRACE_(CONFIG|TEST_.*|KEY|URL|PROFILE|ORGANIZATION)$/

/** Returns the variable of a path. */
export function variableFor(path: string): string {
  return Object.entries(shortNames).find(([, short]) => short === path)?.[0] ?? longName(path)
}

export interface ConfigArgs {
  readonly defaults: string
  /** Folder of config/millrace.yaml. Ignored without this file, or if another file is named. */
  readonly project?: string
  readonly file?: string | undefined
  readonly env: NodeJS.ProcessEnv
  /** The treatment of a `from_env` with an unset variable: a problem, or a placeholder for commands without a service. */
  readonly unset?: "problem" | "placeholder"
}

export function loadConfig(args: ConfigArgs): LoadedConfig {
  const problems: string[] = []
  const origins: Origins = new Map()
  const unset: string[] = []
  const tree: Tree = {}
  merge(tree, readTree(args.defaults, problems), args.defaults, origins)
  const known = leaves(tree)
  const file = args.file ?? (args.env["MILLRACE_CONFIG"] || fileOf(args.project))
  if (file) {
    const over = readTree(file, problems)
    const fromEnv = takeReferences(over, "", { env: args.env, file, problems, unset: args.unset === "placeholder" ? unset : undefined })
    merge(tree, over, file, origins)
    for (const [path, name] of fromEnv) origins.set(path, `${file}, from_env ${name}`)
  }
  for (const [name, text] of Object.entries(args.env)) {
    if (text === undefined || text === "") continue
    applyVariable(name, text, { tree, known, origins, problems })
  }
  const parsed = CoreConfig.safeParse(tree)
  if (!parsed.success) {
    const from = (path: string) => ` (from ${originOf(path, origins) ?? "nowhere"})`
    problems.push(...settingProblems({ schema: CoreConfig, value: tree, issues: parsed.error.issues, at: "", from }))
  }
  if (problems.length > 0 || !parsed.success) throw new BootError(problems)
  return { config: { ...parsed.data, ...(unset.length > 0 ? { unset } : {}) }, origins }
}

/** The file's path in messages. */
function fileOf(project: string | undefined): string | undefined {
  if (project === undefined) return undefined
  const file = join(project, "config/millrace.yaml")
  return existsSync(file) ? relative(process.cwd(), file) : undefined
}

interface Reading {
  readonly env: NodeJS.ProcessEnv
  readonly file: string
  readonly problems: string[]
  readonly unset: string[] | undefined
}

/** Replaces each `{ from_env: NAME }` by the variable's value. Returns the path and name of each. */
function takeReferences(tree: Tree, prefix: string, reading: Reading): [path: string, name: string][] {
  return Object.entries(tree).flatMap(([key, value]): [string, string][] => {
    if (!isRecord(value)) return []
    const path = prefix + key
    const name = value["from_env"]
    if (typeof name !== "string" || Object.keys(value).length !== 1) return takeReferences(value, `${path}.`, reading)
    const text = reading.env[name]
    if ((text === undefined || text === "") && reading.unset) {
      reading.unset.push(path)
      // A core setting falls back to its default. A plugin's setting may have no default.
      if (path.startsWith("plugins.settings.")) tree[key] = `(${name} is not set)`
      else delete tree[key]
      return [[path, `${name}, not set`]]
    }
    if (text === undefined || text === "") {
      reading.problems.push(`${path} (from ${reading.file}) is read from the variable ${name}, which is not set.`)
      delete tree[key]
      return []
    }
    tree[key] = text
    return [[path, name]]
  })
}

interface Applying {
  readonly tree: Tree
  readonly known: readonly string[]
  readonly origins: Origins
  readonly problems: string[]
}

function applyVariable(name: string, text: string, { tree, known, origins, problems }: Applying): void {
  if (!Object.hasOwn(shortNames, name) && !name.startsWith("MILLRACE_")) return
  if (otherNames.test(name)) return
  const byName = new Map(known.map((path) => [longName(path), path]))
  const path = shortNames[name] ?? byName.get(name)
  if (path === undefined) {
    problems.push(`The variable ${name} does not name a setting.${didYouMean(name, [...byName.keys(), ...Object.keys(shortNames)])}`)
    return
  }
  // If a file has a value in place of the section, the schema's error reports it.
  put(tree, path, fromText(text, valueAt(tree, path.split("."))), `variable ${name}`, origins)
}

function longName(path: string): string {
  return `MILLRACE_${path.replaceAll(".", "_").toUpperCase()}`
}

/**
 * Converts text to the kind of the existing value: a number, a boolean, a comma-separated list, or a JSON section. Other text is
 * unchanged.
 */
function fromText(text: string, standing: unknown): unknown {
  if (typeof standing === "number" && /^-?\d+(\.\d+)?$/.test(text)) return Number(text)
  if (typeof standing === "boolean" && /^(true|false)$/.test(text)) return text === "true"
  if (Array.isArray(standing)) {
    return text
      .split(",")
      .map((part) => part.trim())
      .filter((part) => part !== "")
  }
  return isRecord(standing) ? jsonOrText(text) : text
}
