// data/bootstrap.json: what a first start leaves for the operator, readable by their account alone.
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { z } from "zod"

const BootstrapFile = z.object({
  base_url: z.string(),
  organization: z.object({ id: z.string(), slug: z.string() }),
  admin_key: z.string(),
  /** There until a start that listened has printed the key. */
  printed: z.literal(false).optional(),
})
export type BootstrapFile = z.infer<typeof BootstrapFile>

export function bootstrapFileIn(dataDir: string): string {
  return join(dataDir, "bootstrap.json")
}

/** undefined: there is none. Throws where there is one that cannot be read as such: it may hold the only key. */
export function readBootstrapFile(file: string): BootstrapFile | undefined {
  let text: string
  try {
    text = readFileSync(file, "utf8")
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw error
  }
  try {
    return BootstrapFile.parse(JSON.parse(text))
  } catch (cause) {
    throw new Error(`${file} does not hold what a first start writes ({ base_url, organization, admin_key }); move it away to continue.`, {
      cause,
    })
  }
}

/** Whole or not at all, also when the process ends half way. */
export function writeBootstrapFile(file: string, content: BootstrapFile): void {
  const draft = `${file}.${process.pid}`
  rmSync(draft, { force: true })
  writeFileSync(draft, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600, flag: "wx", flush: true })
  renameSync(draft, file)
}
