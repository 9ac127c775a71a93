// `millrace backup FILE` copies the embedded store of a running service. `millrace restore FILE` restores it for a stopped
// service.
import { mkdirSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import type { Command } from "commander"
import { Collections } from "../contract/collection.ts"
import { BootError, type CoreConfig } from "../kernel/config.ts"
import type { Registry } from "../kernel/registry.ts"
import { print, type Terminal } from "../kernel/terminal.ts"
import { backUp, restore } from "../storage/sqlite/backup.ts"

export function addBackupCommands(
  program: Command,
  config: () => CoreConfig,
  terminal: Terminal,
  declarations: () => Promise<{ readonly registry: Registry }>,
): void {
  program
    .command("backup")
    .description("Back up the embedded store to a new file, even while the service runs; verified by a checksum of all documents.")
    .argument("<file>", "file to write; must not exist yet")
    .action(async (file: string) => {
      const { data_dir } = embedded(config(), "mongodump")
      const target = resolve(file)
      const { documents, sha256 } = await told(() => {
        mkdirSync(dirname(target), { recursive: true })
        return backUp(dataFile(data_dir), target, now())
      })
      print(terminal, `${file}: ${documents} documents, sha256 ${sha256}`)
      print(
        terminal,
        `The master key (${data_dir}, or MILLRACE_MASTER_KEY) is not included: without that key its secrets cannot be decrypted.`,
      )
    })

  program
    .command("restore")
    .description(
      "Replace the embedded store by a backup; the service must be stopped. The replaced store is kept beside it, and its erasures, opt-outs, consents and suppressions are taken over.",
    )
    .argument("<file>", "file that `millrace backup` wrote")
    .action(async (file: string) => {
      const { data_dir } = embedded(config(), "mongorestore")
      const { registry } = await declarations()
      const kept = registry.items(Collections).filter(({ outlivesRestore }) => outlivesRestore === true)
      const report = await told(() => restore(resolve(file), dataFile(data_dir), now(), kept))
      const { documents, sha256, made_at, aside, carried, replacedAt } = report
      print(terminal, `${dataFile(data_dir)}: ${documents} documents as of ${made_at}, sha256 ${sha256}`)
      if (aside !== undefined) print(terminal, `The replaced store is in ${aside}.`)
      const span = `from ${made_at} to ${replacedAt ?? now()}`
      if (carried !== undefined) {
        print(terminal, `Taken over from the replaced store: ${carried} erasures, opt-outs, consents and suppressions.`)
        print(terminal, `Data of people who were erased ${span} is there again, and nobody is written to. Repeat these erasures.`)
      } else {
        print(
          terminal,
          `Warning: the replaced store is missing or cannot be read. Erasures, opt-outs, withdrawn consents and suppressions ${span} are lost.`,
        )
        print(terminal, "Repeat them before the service starts to send.")
      }
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
  throw new BootError([`storage.url names a MongoDB, which has its own backup tools: use ${tool}.`])
}

/** Errors are for the user, so they appear without a stack. */
async function told<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    throw new BootError([error instanceof Error ? error.message : String(error)])
  }
}
