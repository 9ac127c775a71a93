// Bundles the app for browsers, with esbuild: the script of the page, and chunks that it loads when they are asked for.
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"

const app = fileURLToPath(new URL("./app", import.meta.url))

/** Texts by file name; names hold a hash of their content. */
export async function buildApp(): Promise<Map<string, string>> {
  // Only here, so that a packed service starts without a bundler.
  const { build } = await import("esbuild")
  const built = await build({
    entryPoints: [join(app, "main.tsx"), join(app, "style.css")],
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
  })
  return new Map(built.outputFiles.map(({ path, text }) => [basename(path), text]))
}
