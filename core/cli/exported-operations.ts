// Finds the exports of operations: file and name, for type inference.
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import type { AnyOperation } from "../contract/operation.ts"
import type { DeclaredResource } from "../contract/resource.ts"
import { BootError } from "../kernel/config.ts"

export interface ExportedOperation {
  /** Relative to the folder, with / as separator. */
  readonly path: string
  readonly name: string
}

/** Finds the operations exported by files in a folder. Loads each file with a declaration. */
export async function exportedOperations(folder: string): Promise<Map<unknown, ExportedOperation>> {
  const found = new Map<unknown, ExportedOperation>()
  const paths = globSync("**/*.{ts,js}", { cwd: folder, exclude: (path) => String(path).endsWith("node_modules") })
  for (const path of paths.map((one) => one.replaceAll("\\", "/")).sort()) {
    const file = join(folder, path)
    if (/\.(test|d)\.ts$/.test(path) || !/define(Operation|List|Resource)[(<]/.test(readFileSync(file, "utf8"))) continue
    const module = (await import(pathToFileURL(file).href)) as Record<string, unknown>
    for (const [name, value] of Object.entries(module)) {
      const places = isResource(value) ? verbs.map((verb) => [`${name}.${verb}`, value[verb]] as const) : [[name, value] as const]
      for (const [place, operation] of places) if (operation && !found.has(operation)) found.set(operation, { path, name: place })
    }
  }
  return found
}

const verbs = ["create", "list", "get", "update", "delete"] as const satisfies (keyof DeclaredResource)[]

function isResource(value: unknown): value is DeclaredResource {
  return typeof value === "object" && value !== null && "collection" in value && "identity" in value
}

/** Throws BootError if an operation has no exported type. */
export function assertExported(operations: readonly AnyOperation[], places: ReadonlyMap<unknown, unknown>): void {
  const missing = operations.filter((operation) => !places.has(operation)).map(({ name }) => name)
  if (missing.length === 0) return
  throw new BootError([
    `The client cannot be typed: ${missing.join(", ")}. Write \`export const name = defineOperation({…})\` in a file of the plugin.`,
  ])
}
