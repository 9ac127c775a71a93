// Declarations of everything that the entry points export, by tsc, which does not check the sources again: the checks do.
import { spawn } from "node:child_process"
import { globSync, readFileSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { text } from "node:stream/consumers"

const compiler = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc")

/** Writes the declarations of each project of this folder. Throws the findings of tsc. */
export async function writeDeclarations(folder: string): Promise<void> {
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
