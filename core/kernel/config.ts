// Configuration: config/default.yaml, then the file that MILLRACE_CONFIG names, then variables. Unknown keys are errors
// with a guess at what was meant, all problems come at once, and each value remembers where it came from.
import { existsSync, readFileSync } from "node:fs"
import { isIP } from "node:net"
import { parse } from "yaml"
import { CoreConfig } from "./config-schema.ts"
import { didYouMean } from "./guess.ts"
import { secretNames } from "./log.ts"

export { type CoreConfig, Settings } from "./config-schema.ts"

export interface LoadedConfig {
  readonly config: CoreConfig
  /** Dotted path of each leaf, to the file or variable it came from. */
  readonly origins: ReadonlyMap<string, string>
}

/** Boot problems, told all at once. */
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

type Tree = { [key: string]: unknown }

/** Variables with a name of their own; every other is MILLRACE_ and the path. */
const shortNames: Record<string, string> = {
  PORT: "server.port",
  HOST: "server.host",
  MILLRACE_PUBLIC_URL: "server.public_url",
  MILLRACE_TRUST_PROXY: "server.trust_proxy",
}

/** Variables that are not settings. */
const otherNames = /^MILLRACE_(CONFIG|TEST_.*|KEY|URL|PROFILE|ORGANIZATION)$/

export function loadConfig(args: { defaults: string; file?: string | undefined; env: NodeJS.ProcessEnv }): LoadedConfig {
  const problems: string[] = []
  const origins = new Map<string, string>()
  const tree = readTree(args.defaults, problems)
  record(tree, args.defaults, origins)
  const known = leaves(tree)
  const file = args.file ?? args.env["MILLRACE_CONFIG"]
  if (file) {
    const over = readTree(file, problems)
    merge(tree, over, file, origins)
  }
  for (const [name, text] of Object.entries(args.env)) {
    if (text === undefined || text === "") continue
    applyVariable(name, text, { tree, known, origins, problems })
  }
  const parsed = CoreConfig.safeParse(tree)
  if (!parsed.success) problems.push(...parsed.error.issues.flatMap((issue) => describe(issue, origins, tree)))
  if (problems.length > 0 || !parsed.success) throw new BootError(problems)
  for (const entry of parsed.data.server.trust_proxy) {
    if (isIP(entry.split("/")[0] ?? "") === 0)
      throw new BootError([`server.trust_proxy: "${entry}" is no address or CIDR block such as 10.0.0.0/8.`])
  }
  return { config: parsed.data, origins }
}

interface Applying {
  tree: Tree
  known: readonly string[]
  origins: Map<string, string>
  problems: string[]
}

function applyVariable(name: string, text: string, { tree, known, origins, problems }: Applying): void {
  if (!(name in shortNames) && !name.startsWith("MILLRACE_")) return
  if (otherNames.test(name)) return
  const byName = new Map(known.map((path) => [`MILLRACE_${path.replaceAll(".", "_").toUpperCase()}`, path]))
  const path = shortNames[name] ?? byName.get(name)
  if (path === undefined) {
    problems.push(`The variable ${name} sets nothing.${didYouMean(name, [...byName.keys(), ...Object.keys(shortNames)])}`)
    return
  }
  const keys = path.split(".")
  const last = keys.pop() ?? ""
  let at = tree
  for (const key of keys) at = at[key] as Tree
  at[last] = fromText(text, at[last])
  origins.set(path, `variable ${name}`)
}

/** Text as the kind of value that stands there: a number, a boolean, a list by commas; otherwise as it is. */
function fromText(text: string, standing: unknown): unknown {
  if (typeof standing === "number" && /^-?\d+(\.\d+)?$/.test(text)) return Number(text)
  if (typeof standing === "boolean" && /^(true|false)$/.test(text)) return text === "true"
  if (Array.isArray(standing))
    return text
      .split(",")
      .map((part) => part.trim())
      .filter((part) => part !== "")
  return text
}

function readTree(file: string, problems: string[]): Tree {
  if (!existsSync(file)) {
    problems.push(`The configuration file ${file} does not exist.`)
    return {}
  }
  try {
    const value: unknown = parse(readFileSync(file, "utf8"), { prettyErrors: true })
    if (value === null || value === undefined) return {}
    if (isTree(value)) return value
    problems.push(`${file}: a configuration is an object of sections, not ${Array.isArray(value) ? "a list" : typeof value}.`)
  } catch (error) {
    problems.push(`${file}: ${(error as Error).message}`)
  }
  return {}
}

function isTree(value: unknown): value is Tree {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function merge(into: Tree, over: Tree, origin: string, origins: Map<string, string>, prefix = ""): void {
  for (const [key, value] of Object.entries(over)) {
    const path = prefix + key
    const standing = Object.hasOwn(into, key) ? into[key] : undefined
    if (isTree(value) && isTree(standing)) merge(standing, value, origin, origins, `${path}.`)
    else {
      Object.defineProperty(into, key, { value, enumerable: true, writable: true, configurable: true })
      origins.set(path, origin)
    }
  }
}

function record(tree: Tree, origin: string, origins: Map<string, string>): void {
  for (const path of leaves(tree)) origins.set(path, origin)
}

function leaves(tree: Tree, prefix = ""): string[] {
  return Object.entries(tree).flatMap(([key, value]) =>
    isTree(value) && Object.keys(value).length > 0 ? leaves(value, `${prefix}${key}.`) : [prefix + key],
  )
}

function describe(
  issue: { code?: string; path: PropertyKey[]; message: string; keys?: string[] },
  origins: ReadonlyMap<string, string>,
  tree: Tree,
): string[] {
  const path = issue.path.join(".")
  if (issue.keys) {
    const section = issue.path.reduce<unknown>((at, key) => (isTree(at) ? at[String(key)] : undefined), tree)
    const siblings = isTree(section) ? Object.keys(section).filter((key) => !issue.keys?.includes(key)) : []
    return issue.keys.map((key) => {
      const full = path ? `${path}.${key}` : key
      return `${full} (from ${originOf(full, origins)}) is no setting.${didYouMean(key, siblings)}`
    })
  }
  return [`${path} (from ${originOf(path, origins)}): ${issue.message}.`]
}

function originOf(path: string, origins: ReadonlyMap<string, string>): string {
  return origins.get(path) ?? [...origins].find(([known]) => known.startsWith(`${path}.`))?.[1] ?? "nowhere"
}

const hidden = new Set<string>(secretNames)

/** What `millrace config` prints: one line a value, secrets masked, with its origin. */
export function printConfig({ config, origins }: LoadedConfig): string {
  const at = (path: string) => path.split(".").reduce<unknown>((value, key) => (isTree(value) ? value[key] : undefined), config)
  const rows = leaves(config as unknown as Tree).map((path) => [path, mask(path, at(path)), originOf(path, origins)] as const)
  const width = Math.max(...rows.map(([path]) => path.length))
  return rows.map(([path, value, origin]) => `${path.padEnd(width)}  ${value}  # ${origin}`).join("\n")
}

function mask(path: string, value: unknown): string {
  if (value === null || value === undefined) return "null"
  if (hidden.has(path.split(".").at(-1) ?? "")) return "[set]"
  return JSON.stringify(typeof value === "string" ? value.replace(/\/\/[^/@\s]*@/, "//[set]@") : value)
}
