// The code that runs inside isolates, bundled from its TypeScript once a process, so that a fresh clone needs no build
// step and a replaced child starts without waiting for it.
import { fileURLToPath } from "node:url"
import { build, stop } from "esbuild"

const entries = {
  /** Defines `millraceIsolate`: what runs programs. */
  runner: { file: "./isolate/runner.ts", globalName: "millraceIsolate" },
  /** Defines `millraceCompiler`: what makes programs. */
  compiler: { file: "./isolate/compiler/main.ts", globalName: "millraceCompiler" },
} as const

const bundles = new Map<keyof typeof entries, Promise<string>>()
let building = 0

/** JavaScript of one of the bundles. */
export function isolateBundle(name: keyof typeof entries): Promise<string> {
  let bundle = bundles.get(name)
  if (!bundle) {
    bundle = make(name)
    bundles.set(name, bundle)
    // The next one that needs it tries again.
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
    // Ends esbuild's own process; a later build would start another.
    if (--building === 0) await stop()
  }
}
