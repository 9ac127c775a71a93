// What went wrong while a module was loaded, with the file and line that its author has to look at.
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"

/** `specifier` is what was imported: a file URL, or a package's name. */
export function thrownAtLoad(error: unknown, specifier: string): string {
  if (!(error instanceof Error)) return String(error)
  const place = placeOf(error, specifier)
  return place === undefined ? error.message : `${error.message} (${place})`
}

/** `file:line`: of a text that does not parse its own, else the first call in the module's folder. */
function placeOf({ name, stack = "" }: Error, specifier: string): string | undefined {
  const [first = "", ...rest] = stack.split("\n")
  // Node writes the place of a syntax error above the error itself, and no call of the module stands below.
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
