// Builds the package for `npm pack`: the sources as plain JavaScript, their declarations, and their data files. The package.json
// in their folder is written last, because it redirects imports from the sources to the build. `--clean` removes the build.

import { spawn } from "node:child_process"
import { cpSync, existsSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join, resolve } from "node:path"
import { text } from "node:stream/consumers"
import { buildApp } from "../plugins/console/build-app.ts"
import { javaScriptOf } from "./javascript.ts"

const root = resolve(import.meta.dirname, "..")
const entryPoints = join(root, "entry-points")

const sources = ["client", "core", "plugins"]
/** Copied unchanged. The templates become sources of the user. */
const data = ["config", "pipelines", "templates"]

interface Manifest {
  readonly imports: Readonly<Record<string, string>>
  readonly [field: string]: unknown
}

async function build(): Promise<void> {
  clean()
  await writeDeclarations(entryPoints)
  for (const path of globSync(`{${sources.join()}}/**/*.{ts,tsx,js}`, { cwd: root })) {
    const text = javaScriptOf(join(root, path), readFileSync(join(root, path), "utf8"))
    write(path.replace(/\.tsx?$/, ".js"), text)
  }
  for (const path of globSync(`{${sources.join()}}/**/*.{css,json,yaml}`, { cwd: root, exclude: ["**/tsconfig.json"] }))
    write(path, readFileSync(join(root, path), "utf8"))
  for (const [name, text] of await buildApp()) write(`plugins/console/built/${name}`, text)
  for (const folder of data) cpSync(join(root, folder), join(entryPoints, folder), { recursive: true })
  write("package.json", `${JSON.stringify(manifest(), null, 2)}\n`)
}

function write(path: string, text: string): void {
  if (existsSync(join(entryPoints, path))) throw new Error(`Two files would become ${path}; give one of them another name.`)
  mkdirSync(dirname(join(entryPoints, path)), { recursive: true })
  writeFileSync(join(entryPoints, path), text)
}

/** Returns the fields of package.json used by the built files and the command. */
function manifest(): object {
  const source = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest
  const { name, version, type, license, engines, dependencies, devDependencies, allowScripts } = source
  const imports = Object.fromEntries(Object.entries(source.imports).map(([key, path]) => [key, path.replace(/\.ts$/, ".js")]))
  return { name, version, type, license, engines, imports, dependencies, devDependencies, allowScripts }
}

function clean(): void {
  rmSync(join(entryPoints, "package.json"), { force: true })
  for (const entry of readdirSync(entryPoints, { withFileTypes: true }))
    if (entry.isDirectory()) rmSync(join(entryPoints, entry.name), { recursive: true })
}

// Writes the declarations of all exported names with tsc. The checks have verified the sources, so tsc skips this here.

const compiler = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc")

/** Writes the declarations of each project of this folder. Throws the findings of tsc. */
async function writeDeclarations(folder: string): Promise<void> {
  for (const project of ["tsconfig.json", "tsconfig.console.json"]) await declare(project, folder)
  for (const path of globSync("*/**/*.d.ts", { cwd: folder })) {
    const file = join(folder, path)
    writeFileSync(file, readFileSync(file, "utf8").replace(/(["'])(\.{1,2}\/[^"'\n]+)\.tsx?\1/g, "$1$2.js$1"))
  }
}

async function declare(project: string, folder: string): Promise<void> {
  const args = [compiler, "--project", join(import.meta.dirname, project), "--noCheck", "--outDir", folder]
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] })
  const [output, code] = await Promise.all([text(child.stdout), new Promise((resolve) => child.once("close", resolve))])
  if (code !== 0) throw new Error(`tsc made no declarations:\n${output}`)
}

try {
  if (process.argv.includes("--clean")) clean()
  else await build()
} catch (error) {
  clean()
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
