// The code for isolates, bundled from TypeScript once per process. A fresh clone needs no build step, and a replaced child starts
// without waiting for a build.
import { fileURLToPath } from "node:url"
import { build, stop } from "esbuild"

const entries = {
  /** Defines `millraceIsolate`, the runner of programs. */
  runner: { file: "./isolate/runner.ts", globalName: "millraceIsolate" },
  /** Defines `millraceCompiler`, the compiler of programs. */
  compiler: { file: "./isolate/compiler/main.ts", globalName: "millraceCompiler" },
} as const

const bundles = new Map<keyof typeof entries, Promise<string>>()
let building = 0

/** Returns the JavaScript of a bundle. */
export function isolateBundle(name: keyof typeof entries): Promise<string> {
  let bundle = bundles.get(name)
  if (!bundle) {
    bundle = make(name)
    bundles.set(name, bundle)
    // The next caller builds again.
    bundle.catch(() => bundles.delete(name))
  }
  return bundle
}

async function make(name: keyof typeof entries): Promise<string> {
  const { file, globalName } = entries[name]
  building++
  try {
    const result = await build({
      entryPoints: [fileURLToPath(new URL(file, import.meta.url))],
      bundle: true,
      write: false,
      format: "iife",
      globalName,
      target: "es2024",
      minifySyntax: true,
      minifyWhitespace: true,
      logLevel: "silent",
    })
    const text = result.outputFiles[0]?.text
    if (text === undefined) throw new Error("esbuild gave no output for the isolates' code.")
    return text.trimEnd().replace(/;$/, "")
  } finally {
    // Ends esbuild's own process. A later build starts another.
    if (--building === 0) await stop()
  }
}
