// Bundles the app for browsers with esbuild: the main script, and chunks loaded on demand. Finds contributions by the folder name
// `console` of each area. Each screen is a separate chunk.
import { existsSync, globSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { basename, dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import type { Plugin } from "esbuild"

const app = fileURLToPath(new URL("./app", import.meta.url))
const plugins = fileURLToPath(new URL("..", import.meta.url))

/** Returns texts by file name. File names contain a content hash. `folders` contain further plugins. */
export async function buildApp(folders: readonly string[] = []): Promise<Map<string, string>> {
  // Imported here only, so a packed service starts without a bundler.
  const { build } = await import("esbuild")
  const contributions = new Set([plugins, ...folders].flatMap((folder) => screensIn(folder)))
  const built = await build({
    entryPoints: [
      { in: "console:main", out: "main" },
      { in: join(app, "style.css"), out: "style" },
    ],
    outdir: app,
    entryNames: "[name]-[hash]",
    chunkNames: "chunk-[hash]",
    bundle: true,
    splitting: true,
    minify: true,
    write: false,
    format: "esm",
    jsx: "automatic",
    jsxImportSource: "preact",
    target: ["es2022", "chrome120", "firefox120", "safari17"],
    platform: "browser",
    legalComments: "none",
    charset: "utf8",
    plugins: [entry([...contributions]), shared, adoptedStyles],
  })
  return new Map(built.outputFiles.map(({ path, text }) => [basename(path), text]))
}

/** Returns the entries of screens in a folder of plugins, by the names of the plugins. */
export function screensIn(folder: string): string[] {
  if (!existsSync(folder)) return []
  return globSync("{.,*,*/*}/console/screens.{ts,js}", { cwd: folder })
    .map((path) => resolve(folder, path))
    .sort((left, right) => pluginOf(left).localeCompare(pluginOf(right), "en"))
}

function pluginOf(entry: string): string {
  return basename(dirname(dirname(entry)))
}

/** Starts the app with the contributions of areas. */
function entry(contributions: readonly string[]): Plugin {
  const imports = contributions.map((path, index) => `import area${index} from ${JSON.stringify(path)}`)
  const names = contributions.map((_path, index) => `area${index}`)
  const contents = [...imports, 'import { start } from "./main"', `start([${names.join()}])`].join("\n")
  return {
    name: "console entry",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^console:main$/ }, ({ path }) => ({ path, namespace: "console" }))
      onLoad({ filter: /.*/, namespace: "console" }, () => ({ contents, resolveDir: app, loader: "ts" }))
    },
  }
}

/** Screens of a project share the parts and the libraries of the console. A second copy would have its own state. */
const shared: Plugin = {
  name: "shared libraries",
  setup(build) {
    build.onResolve({ filter: /^millrace\/console$/ }, () => build.resolve("./screen", { resolveDir: app, kind: "import-statement" }))
    build.onResolve({ filter: /^(preact|@preact\/signals)(\/|$)/ }, ({ path, kind, resolveDir }) =>
      resolveDir === app ? undefined : build.resolve(path, { resolveDir: app, kind }),
    )
  },
}

/** An imported style becomes a sheet adopted by the document. The page's policy refuses other late styles. */
const adoptedStyles: Plugin = {
  name: "adopted styles",
  setup({ onLoad, esbuild }) {
    onLoad({ filter: /\.css$/ }, async ({ path }) => {
      if (path === join(app, "style.css")) return undefined
      const { code } = await esbuild.transform(await readFile(path, "utf8"), { loader: "css", minify: true })
      const contents = `const sheet = new CSSStyleSheet()\nsheet.replaceSync(${JSON.stringify(code)})\ndocument.adoptedStyleSheets.push(sheet)`
      return { contents, loader: "js" }
    })
  },
}
