// What `npm pack` puts behind the doors: the sources as plain JavaScript, their declarations, and what they read. The
// doors' package.json comes last, for it is what turns the doors from the sources to all this. `--clean` takes it away.
import { cpSync, existsSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { writeDeclarations } from "./declarations.ts"
import { javaScriptOf } from "./javascript.ts"

const root = resolve(import.meta.dirname, "..")
const doors = join(root, "doors")

const sources = ["client", "core", "plugins"]
/** Taken as they are; the templates are sources of the user's. */
const data = ["config", "pipelines", "templates"]

interface Manifest {
  readonly imports: Readonly<Record<string, string>>
  readonly [field: string]: unknown
}

async function build(): Promise<void> {
  clean()
  await writeDeclarations(doors)
  for (const path of globSync(`{${sources.join()}}/**/*.{ts,js}`, { cwd: root })) {
    const text = javaScriptOf(join(root, path), readFileSync(join(root, path), "utf8"))
    write(path.replace(/\.ts$/, ".js"), text)
  }
  for (const path of globSync(`{${sources.join()}}/**/*.css`, { cwd: root })) write(path, readFileSync(join(root, path), "utf8"))
  for (const folder of data) cpSync(join(root, folder), join(doors, folder), { recursive: true })
  write("package.json", `${JSON.stringify(manifest(), null, 2)}\n`)
}

function write(path: string, text: string): void {
  if (existsSync(join(doors, path))) throw new Error(`Two files would become ${path}; give one of them another name.`)
  mkdirSync(dirname(join(doors, path)), { recursive: true })
  writeFileSync(join(doors, path), text)
}

/** The framework's own, as far as the built files and the command ask for it. */
function manifest(): object {
  const own = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest
  const { name, version, type, license, engines, dependencies, devDependencies, allowScripts } = own
  const imports = Object.fromEntries(Object.entries(own.imports).map(([key, path]) => [key, path.replace(/\.ts$/, ".js")]))
  return { name, version, type, license, engines, imports, dependencies, devDependencies, allowScripts }
}

function clean(): void {
  rmSync(join(doors, "package.json"), { force: true })
  for (const entry of readdirSync(doors, { withFileTypes: true }))
    if (entry.isDirectory()) rmSync(join(doors, entry.name), { recursive: true })
}

try {
  if (process.argv.includes("--clean")) clean()
  else await build()
} catch (error) {
  clean()
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
