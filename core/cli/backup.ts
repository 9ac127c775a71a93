// `millrace backup FILE` and `millrace restore FILE`: the embedded store, copied while the service runs and put back
// while it does not.
import { mkdirSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import type { Command } from "commander"
import { BootError, type CoreConfig } from "../kernel/config.ts"
import { print, type Terminal } from "../kernel/terminal.ts"
import { backUp, restore } from "../storage/sqlite/backup.ts"

export function addBackupCommands(program: Command, config: () => CoreConfig, terminal: Terminal): void {
  program
    .command("backup")
    .description("Copy the embedded store into a new file, while the service runs or not; verified by a checksum of all documents.")
    .argument("<file>", "file to write; must not exist yet")
    .action(async (file: string) => {
      const { data_dir } = embedded(config(), "mongodump")
      const target = resolve(file)
      const { documents, sha256 } = await told(() => {
        mkdirSync(dirname(target), { recursive: true })
        return backUp(dataFile(data_dir), target, now())
      })
      print(terminal, `${file}: ${documents} documents, sha256 ${sha256}`)
      print(terminal, `The master key (${data_dir}, or MILLRACE_MASTER_KEY) is not in it: without that key its secrets stay sealed.`)
    })

  program
    .command("restore")
    .description("Put a backup in the place of the embedded store; the service must be stopped. What was there is kept beside it.")
    .argument("<file>", "file that `millrace backup` wrote")
    .action(async (file: string) => {
      const { data_dir } = embedded(config(), "mongorestore")
      const { documents, sha256, made_at, aside } = await told(() => restore(resolve(file), dataFile(data_dir), now()))
      print(terminal, `${dataFile(data_dir)}: ${documents} documents as of ${made_at}, sha256 ${sha256}`)
      if (aside !== undefined) print(terminal, `What was there before is in ${aside}.`)
    })
}

function dataFile(folder: string): string {
  return join(folder, "millrace.db")
}

function now(): string {
  return new Date().toISOString()
}

function embedded(config: CoreConfig, tool: string): CoreConfig {
  if (config.storage.url === null || config.storage.url === "") return config
  throw new BootError([`storage.url names a MongoDB, which has tools of its own for this: use ${tool}.`])
}

/** What went wrong is the user's to read, without a stack. */
async function told<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    throw new BootError([error instanceof Error ? error.message : String(error)])
  }
}
