// The app's scripts and style. A clone, and a project with screens of its own, build them in memory. Other projects read what
// the package contains.
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { token } from "#core"
import { buildApp, screensIn } from "./build-app.ts"

/** Texts by file name; names hold a hash of their content. */
export type Assets = ReadonlyMap<string, string>

export interface ConsoleAssets {
  /** Built or read at the first call. */
  load(): Promise<Assets>
}

export const ConsoleAssets = token<ConsoleAssets>("console assets")

const packed = fileURLToPath(new URL("./built", import.meta.url))

/** `folders` hold plugins beside those that ship. */
export function createAssets(folders: readonly string[]): ConsoleAssets {
  let loading: Promise<Assets> | undefined
  return {
    load() {
      loading ??= read(folders).catch((error: unknown) => {
        loading = undefined
        throw error
      })
      return loading
    },
  }
}

async function read(folders: readonly string[]): Promise<Assets> {
  if (!existsSync(packed) || folders.some((folder) => screensIn(folder).length > 0)) return await buildApp(folders)
  return new Map(readdirSync(packed).map((name) => [name, readFileSync(join(packed, name), "utf8")]))
}
