// Caches compiled programs by digest. Recent programs are in memory. With a folder, a restart needs no new compilation. An
// unreadable or unwritable file costs a compilation, never an event.
import { mkdir, readFile, rename, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { z } from "zod"
import type { Logger } from "../../kernel/log.ts"
import { Mapping } from "./mapping/mapping.ts"
import type { Program } from "./sandbox.ts"

const maxInMemory = 512
const Kept = z.strictObject({
  digest: z.string(),
  validator: z.string().nullable(),
  transform: z.string().nullable(),
  fields: z.strictObject({ names: z.array(z.string()), withEvent: z.boolean(), exact: z.boolean() }).nullable(),
  mapping: Mapping.nullable(),
})

export class ProgramCache {
  readonly #programs = new Map<string, Program>()
  readonly #folder: string | null
  readonly #log: Logger

  constructor(folder: string | null, log: Logger) {
    this.#folder = folder
    this.#log = log
  }

  async get(digest: string): Promise<Program | undefined> {
    const kept = this.#programs.get(digest)
    if (kept) {
      this.#programs.delete(digest)
      this.#programs.set(digest, kept)
      return kept
    }
    const read = await this.#read(digest)
    if (read) this.#remember(read)
    return read
  }

  async put(program: Program): Promise<void> {
    this.#remember(program)
    if (this.#folder === null) return
    const path = join(this.#folder, `${program.digest}.json`)
    try {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 })
      const half = `${path}.${process.pid}.tmp`
      await writeFile(half, JSON.stringify(program), { mode: 0o600 })
      await rename(half, path)
    } catch (error) {
      this.#log.warn({ err: error, path }, "A compiled program could not be cached; the next start compiles it again.")
    }
  }

  async #read(digest: string): Promise<Program | undefined> {
    if (this.#folder === null) return undefined
    try {
      const program = Kept.parse(JSON.parse(await readFile(join(this.#folder, `${digest}.json`), "utf8")))
      return program.digest === digest ? program : undefined
    } catch {
      return undefined
    }
  }

  #remember(program: Program): void {
    this.#programs.set(program.digest, program)
    if (this.#programs.size <= maxInMemory) return
    for (const oldest of this.#programs.keys()) {
      this.#programs.delete(oldest)
      return
    }
  }
}
