// The import graph of the project, read from its sources: imports of files and of npm packages, types included.
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"

export const projectRoot = resolve(import.meta.dirname, "..")

export interface Import {
  /** File below the project root, or package name. */
  readonly target: string
  readonly kind: "file" | "package"
  readonly typeOnly: boolean
}

export interface Module {
  readonly path: string
  readonly text: string
  readonly imports: readonly Import[]
}

const entryPoints: Readonly<Record<string, string>> = {
  "#core": "core/index.ts",
  "#core/engine": "core/engine.ts",
  "#core/commands": "core/commands.ts",
  "#core/search": "core/search.ts",
  "#core/testing": "core/testing.ts",
}

/** Returns every TypeScript and JavaScript file of the folders, by path below the root. */
export function readModules(folders: readonly string[], root = projectRoot): Map<string, Module> {
  const paths = folders
    .flatMap((folder) => readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)))
    .filter((path) => /\.(tsx?|js|mjs)$/.test(path))
    .sort()
  return new Map(paths.map((path) => [path, readModule(path, root)]))
}

function readModule(path: string, root: string): Module {
  const text = readFileSync(join(root, path), "utf8")
  return { path, text, imports: importsIn(text).map(({ specifier, typeOnly }) => ({ ...targetOf(specifier, path, root), typeOnly })) }
}

const statement = /^(import|export)\s(?!const|function|class|async|interface|default)([^"'`;()=]*?)\bfrom\s*["']([^"']+)["']/gm
const sideEffect = /^import\s*["']([^"']+)["']/gm
const dynamic = /\bimport\(\s*["']([^"']+)["']/g

/** Returns the import specifiers of a source. Ignores comments. */
export function importsIn(source: string): { specifier: string; typeOnly: boolean }[] {
  const text = source.replace(/^\s*(\/\/|\/?\*).*$/gm, "")
  const statements = [...text.matchAll(statement)].map(([, , names = "", specifier = ""]) => ({ specifier, typeOnly: onlyTypes(names) }))
  const others = [...text.matchAll(sideEffect), ...text.matchAll(dynamic)].map(([, specifier = ""]) => ({ specifier, typeOnly: false }))
  return [...statements, ...others]
}

function onlyTypes(names: string): boolean {
  if (/^\s*type\b/.test(names)) return true
  const inBraces = /^\s*\{([^}]*)\}\s*$/.exec(names)?.[1]
  const items = inBraces?.split(",").filter((name) => name.trim() !== "")
  return items !== undefined && items.length > 0 && items.every((name) => /^\s*type\s/.test(name))
}

function targetOf(specifier: string, from: string, root: string): Pick<Import, "target" | "kind"> {
  const entryPoint = entryPoints[specifier]
  if (entryPoint) return { target: entryPoint, kind: "file" }
  if (specifier.startsWith(".")) return { target: relative(root, resolve(root, dirname(from), specifier)), kind: "file" }
  const [scope = "", name = ""] = specifier.split("/")
  return { target: specifier.startsWith("@") ? `${scope}/${name}` : scope, kind: "package" }
}

/** Returns relative imports of missing files. */
export function danglingImports(modules: ReadonlyMap<string, Module>, root = projectRoot): string[] {
  return [...modules.values()].flatMap(({ path, imports }) =>
    imports
      .filter(({ kind, target }) => kind === "file" && !existsSync(join(root, target)))
      .map(({ target }) => `${path} imports ${target}`),
  )
}

/** Returns cycles of runtime imports, each as a list of files. */
export function circles(modules: ReadonlyMap<string, Module>): string[][] {
  const matches: string[][] = []
  const state = new Map<string, "open" | "done">()
  const visit = (path: string, along: string[]): void => {
    if (state.get(path) === "done") return
    if (state.get(path) === "open") {
      matches.push([...along.slice(along.indexOf(path)), path])
      return
    }
    state.set(path, "open")
    for (const { kind, target, typeOnly } of modules.get(path)?.imports ?? []) {
      if (kind === "file" && !typeOnly) visit(target, [...along, path])
    }
    state.set(path, "done")
  }
  for (const path of modules.keys()) visit(path, [])
  return matches
}
