// Bundles the browser scripts with esbuild into scripts.generated.ts. A running service needs no bundler and serves reviewed
// code.
// A test compares the file with a fresh build.
import { createHash } from "node:crypto"
import { fileURLToPath } from "node:url"

const generatedFile = fileURLToPath(new URL("./scripts.generated.ts", import.meta.url))

/** Generated files of this plugin. */
export async function generatedBeacon(): Promise<{ file: string; text: string }[]> {
  const vitals = await bundle("./vitals.ts", "esm", {})
  const version = createHash("sha256").update(vitals).digest("hex").slice(0, 12)
  const beacon = await bundle("./beacon.ts", "iife", { vitalsPath: JSON.stringify(`beacon-vitals.js?v=${version}`) })
  const templateLiteral = (text: string) => `\`${text.replace(/[\\`]|\$\{/g, "\\$&")}\``
  const constants = [
    `export const beacon = ${templateLiteral(beacon)}\n`,
    `export const vitals = ${templateLiteral(vitals)}\n`,
    `export const vitalsVersion = ${JSON.stringify(version)}\n`,
  ]
  const head =
    "// Generated from beacon.ts and vitals.ts by build.ts (`npm run generate`). vitals holds web-vitals, Apache-2.0, Google LLC.\n"
  return [{ file: generatedFile, text: [head, ...constants].join("\n") }]
}

async function bundle(entry: string, format: "iife" | "esm", define: Record<string, string>): Promise<string> {
  // Imported here, so a running service needs no bundler.
  const { build } = await import("esbuild")
  const built = await build({
    entryPoints: [fileURLToPath(new URL(entry, import.meta.url))],
    bundle: true,
    minify: true,
    write: false,
    format,
    define,
    target: ["es2020"],
    platform: "browser",
    legalComments: "none",
    charset: "utf8",
  })
  return built.outputFiles[0]?.text.trim() ?? ""
}
