// The code that runs inside isolates, bundled from its TypeScript once a process, so that a fresh clone needs no build
// step and a replaced child starts without waiting for it.
import { fileURLToPath } from "node:url"
import { build, stop } from "esbuild"

let bundle: Promise<string> | undefined

/** JavaScript that defines `millraceIsolate`. */
export function isolateBundle(): Promise<string> {
  bundle ??= make()
  return bundle
}

async function make(): Promise<string> {
  const result = await build({
    entryPoints: [fileURLToPath(new URL("./isolate/runner.ts", import.meta.url))],
    bundle: true,
    write: false,
    format: "iife",
    globalName: "millraceIsolate",
    target: "es2024",
    minifySyntax: true,
    minifyWhitespace: true,
    logLevel: "silent",
  })
  const text = result.outputFiles[0]?.text
  if (text === undefined) throw new Error("esbuild gave no output for the isolates' code.")
  return text.trimEnd().replace(/;$/, "")
}

/** Ends esbuild's own process; a later build would start another. */
export async function endBundler(): Promise<void> {
  await stop()
}
