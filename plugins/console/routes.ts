// The console over HTTP: page, script, style and operation catalog. They are equal for all callers and contain no data of an
// organization.

import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { AppError, defineRoute, type RouteRequest, type RouteResponse, token } from "#core"
import { buildApp, screensIn } from "./build-app.ts"
import { Catalog } from "./catalog.ts"

/** Texts by file name. File names contain a content hash. */
type Assets = ReadonlyMap<string, string>

export interface ConsoleAssets {
  /** Builds or reads the files on the first call. */
  load(): Promise<Assets>
}

/**
 * The app's scripts and style. A clone, or a project with its own screens, builds them in memory. Other projects read the
 * packaged files.
 */
export const ConsoleAssets = token<ConsoleAssets>("console assets")

const packed = fileURLToPath(new URL("./built", import.meta.url))

/** `folders`: plugins besides the packaged plugins. */
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

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ")

async function shell(assets: ConsoleAssets): Promise<RouteResponse> {
  const files = await assets.load()
  const entry = (kind: "js" | "css") => [...files.keys()].find((name) => /^(?:main|style)-/.test(name) && name.endsWith(kind)) ?? ""
  const preloads = importedBy(entry("js"), files).map((name) => `<link rel="modulepreload" href="/console-assets/${name}">\n`)
  const body = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Millrace</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/console-assets/${entry("css")}">
${preloads.join("")}<script type="module" src="/console-assets/${entry("js")}"></script>
</head>
<body><div id="app"></div><noscript>The console needs JavaScript; the API does not: see /docs.</noscript></body>
</html>
`
  const headers = { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy, "Referrer-Policy": "no-referrer" }
  return { headers, body }
}

/** Returns all chunks statically imported by a script. */
function importedBy(name: string, files: Assets, visited = new Set<string>()): string[] {
  for (const [, chunk = ""] of (files.get(name) ?? "").matchAll(/(?:\bfrom|\bimport)\s*"\.\/([\w.-]+)"/g)) {
    if (visited.has(chunk)) continue
    visited.add(chunk)
    importedBy(chunk, files, visited)
  }
  return [...visited]
}

export const pages = (
  [
    ["console.page", "/console", "The console."],
    ["console.page_below", "/console/{place+}", "A place in the console."],
  ] as const
).map(([name, path, summary]) =>
  defineRoute({
    name,
    summary,
    method: "GET",
    path,
    whilePaused: "Acts for no organization.",
    inject: { assets: ConsoleAssets },
    async handle({ request, deps }) {
      const page = await shell(deps.assets)
      return isReadable(request) ? { ...page, shared: true } : { ...page, status: 400 }
    },
  }),
)

/** The app itself reports unknown addresses. */
function isReadable(request: RouteRequest): boolean {
  try {
    return Boolean(request.params)
  } catch {
    return false
  }
}

export const asset = defineRoute({
  name: "console.asset",
  summary: "The console's script and style.",
  method: "GET",
  path: "/console-assets/{file}",
  whilePaused: "Acts for no organization.",
  inject: { assets: ConsoleAssets },
  async handle({ request, deps }) {
    const { file = "" } = request.params
    const body = (await deps.assets.load()).get(file)
    if (body === undefined)
      throw new AppError("not_found", `The console has no file "${file}"; load /console again.`, { reason: "console_file_not_found" })
    const type = file.endsWith("css") ? "text/css" : "text/javascript"
    return { headers: { "Cache-Control": "public, max-age=31536000, immutable", "Content-Type": `${type}; charset=utf-8` }, body }
  },
})

export const catalog = defineRoute({
  name: "console.catalog",
  summary: "The operations, as the console shows them.",
  method: "GET",
  path: "/console-assets/catalog.json",
  whilePaused: "Acts for no organization.",
  inject: { catalog: Catalog },
  handle: ({ deps }) => ({ headers: { "Content-Type": "application/json" }, body: deps.catalog.text(), shared: true }),
})
