// Writes generated files where they differ, or says which are not current.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, relative } from "node:path"
import type { GeneratedFile } from "../kernel/plugin.ts"
import { print, printError, type Terminal } from "../kernel/terminal.ts"

/** Returns the exit code. */
export function writeGenerated(files: readonly GeneratedFile[], terminal: Terminal): number {
  for (const { file, text } of files.filter(isStale)) {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
    print(terminal, `wrote ${shown(file)}`)
  }
  return 0
}

/** Returns the exit code: 1 when a file is missing or differs. */
export function checkGenerated(files: readonly GeneratedFile[], terminal: Terminal): number {
  const stale = files.filter(isStale)
  for (const { file } of stale)
    printError(terminal, `${shown(file)} is ${existsSync(file) ? "not current" : "missing"}; run \`npm run generate\`.`)
  return stale.length === 0 ? 0 : 1
}

function isStale({ file, text }: GeneratedFile): boolean {
  return !existsSync(file) || readFileSync(file, "utf8") !== text
}

function shown(file: string): string {
  return relative(process.cwd(), file)
}
