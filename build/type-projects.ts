// Divides the sources into TypeScript projects: core, layers of plugins, the client, the console and the tests. `tsc --build`
// then checks a project only if its sources or imported declarations have changed. Plugins of a layer need only
// plugins of lower layers. A project for each plugin would read the library declarations forty times.
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"

const root = resolve(import.meta.dirname, "..")
const cache = join(root, "node_modules/.cache/millrace/types")
/** No other project imports these. */
const last = ["build", "templates", "test"]
/** Code of browsers, checked with the settings of the console. */
const inBrowser = /^plugins\/(?:console\/app|(?:[\w-]+\/)+console)\/|\/console\/sample\/console\//
const specifier = /(?:\bfrom|\bimport)\s*\(?\s*["']([^"'\n]+)["']/g

const imports = (JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { imports: Record<string, string> }).imports
const files = globSync("{core,client,build,templates,test,plugins}/**/*.{ts,tsx,json}", { cwd: root }).filter(isImportable)
const isFile = new Set(files)
const plugins = files.filter((path) => /^plugins\/.*\/index\.ts$/.test(path)).map((path) => dirname(path))

function isImportable(path: string): boolean {
  return !/(?:^|\/)tsconfig[\w.]*json$|\.schema\.json$|^test\/.*\.json$/.test(path)
}

/** Returns the plugin of a file, or its top folder. */
function partOf(path: string): string {
  if (inBrowser.test(path)) return "console"
  const top = path.split("/")[0] ?? ""
  if (top !== "plugins") return last.includes(top) ? "last" : top
  return plugins.filter((folder) => path.startsWith(`${folder}/`)).sort()[0] ?? top
}

/** Files of the root that a source imports. */
function importedBy(path: string): string[] {
  return [...readFileSync(join(root, path), "utf8").matchAll(specifier)].flatMap(([, name = ""]) => {
    const target = name.startsWith(".") ? relative(root, resolve(root, dirname(path), name)) : imports[name]?.replace("./", "")
    return target !== undefined && isFile.has(target) ? target : []
  })
}

const parts = Map.groupBy(files, partOf)
const neededParts = new Map(
  [...parts].map(([part, sources]) => [part, [...new Set(sources.flatMap(importedBy).map(partOf))].filter((need) => need !== part)]),
)

/** Returns the length of the longest chain of plugins below a plugin. */
function layerOf(part: string): number {
  const below = (neededParts.get(part) ?? []).filter((need) => need.startsWith("plugins/"))
  return Math.max(0, ...below.map((need) => 1 + layerOf(need)))
}

const projectOf = new Map([...parts.keys()].map((part) => [part, part.startsWith("plugins/") ? `plugins-${layerOf(part)}` : part]))
const projects = Map.groupBy(files, (path) => projectOf.get(partOf(path)) ?? "")

function neededBy(name: string): string[] {
  const needs = [...projectOf].filter(([, project]) => project === name).flatMap(([part]) => neededParts.get(part) ?? [])
  return [...new Set(needs.map((part) => projectOf.get(part) ?? ""))].filter((project) => project !== name).sort()
}

/** Collects the projects that a project needs, directly or indirectly. */
function gather(name: string, into = new Set<string>()): Set<string> {
  for (const need of neededBy(name)) if (!into.has(need)) gather(need, into.add(need))
  return into
}

// Reasons are global types. The compiler cannot find the files affected by a change of a global type, so a change clears the
// cache.
const declarations = files.filter((path) => /(?:^|\/)reasons(?:\.ts$|\/)/.test(path)).map((path) => readFileSync(join(root, path), "utf8"))
const stamp = join(cache, "reasons.json")
if (!isSame(stamp, JSON.stringify(declarations))) rmSync(cache, { recursive: true, force: true })
write(stamp, JSON.stringify(declarations))

for (const [name, sources] of projects) {
  const folder = join(cache, name)
  const isImported = name !== "last"
  // Declared reasons are global. A declaration file that imports them makes them visible.
  const reasons = join(folder, "reasons.d.ts")
  const declaring = [...gather(name)].flatMap((need) => projects.get(need) ?? []).filter((path) => path.endsWith("/reasons.ts"))
  write(reasons, declaring.map((path) => `import type {} from ${JSON.stringify(join(root, path))}\n`).join(""))
  const settings = {
    extends: join(root, name === "console" ? "plugins/console/app/tsconfig.json" : "tsconfig.json"),
    compilerOptions: {
      composite: isImported,
      incremental: true,
      noEmit: !isImported,
      emitDeclarationOnly: isImported,
      rootDir: root,
      outDir: join(folder, "out"),
      tsBuildInfoFile: join(folder, "tsbuildinfo"),
      typeRoots: [join(root, "node_modules/@types")],
    },
    files: [...sources.map((path) => join(root, path)), reasons],
    include: [],
    references: neededBy(name).map((need) => ({ path: join(cache, need) })),
  }
  write(join(folder, "tsconfig.json"), JSON.stringify(settings, null, 2))
}
write(
  join(cache, "tsconfig.json"),
  JSON.stringify({ files: [], references: [...projects.keys()].sort().map((name) => ({ path: join(cache, name) })) }),
)

function isSame(path: string, content: string): boolean {
  return existsSync(path) && readFileSync(path, "utf8") === content
}

/** Leaves a file with the same content untouched, since the compiler compares times first. */
function write(path: string, content: string): void {
  if (isSame(path, content)) return
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}
