// `millrace rotate-master-key`: seals every secret in the store with another master key. With the embedded store, the service
// must be stopped. On MongoDB, nodes continue if they received both keys before.
import type { Command } from "commander"
import { MasterKeys } from "../bootstrap/vault.ts"
import { BootError, type CoreConfig } from "../kernel/config.ts"
import { createLog } from "../kernel/log.ts"
import { adoptNextMasterKey, nextMasterKey } from "../kernel/master-keys.ts"
import { print, type Terminal } from "../kernel/terminal.ts"
import { createVault } from "../kernel/vault.ts"
import { checkMasterKey, resealAll } from "../storage/master-key.ts"

export function addRotateMasterKey(program: Command, config: () => CoreConfig, terminal: Terminal): void {
  program
    .command("rotate-master-key")
    .description(
      "Re-encrypt every secret in the store with another master key: the one in MILLRACE_MASTER_KEY, with the old one in MILLRACE_RETIRED_MASTER_KEYS; where the key is kept in the data folder, a new one is generated. Can be resumed after an interruption.",
    )
    .action(async () => {
      print(terminal, await rotateMasterKey(config()))
    })
}

/** Returns a summary as text. */
export async function rotateMasterKey(config: CoreConfig): Promise<string> {
  // Imported here: only this command needs a store of its own.
  const { buildRuntime } = await import("../bootstrap/runtime.ts")
  const { Opened } = await import("../bootstrap/storage.ts")
  const runtime = await buildRuntime({ config, log: createLog(config.log.level), serve: false })
  const keys = runtime.container.get(MasterKeys)
  const inFile = config.master_key === null
  if (inFile && keys.source === undefined)
    throw new BootError([`The master key to replace is missing: MILLRACE_MASTER_KEY is not set, and ${keys.file} does not exist.`])
  if (!inFile && keys.retired.length === 0)
    throw new BootError([
      "The master key to rotate to is missing: set MILLRACE_MASTER_KEY to the new key, and MILLRACE_RETIRED_MASTER_KEYS to the former one.",
    ])
  const vault = inFile ? createVault(nextMasterKey(keys.file), [keys.current, ...keys.retired]) : createVault(keys.current, keys.retired)
  const store = runtime.container.get(Opened)
  try {
    await store.start().catch((error: unknown) => {
      // A running service locks the embedded file. The error names the file and the remedy.
      throw error instanceof BootError ? error : new BootError([error instanceof Error ? error.message : String(error)])
    })
    await checkMasterKey(store, { vault, source: inFile ? keys.file : "MILLRACE_MASTER_KEY", file: keys.file })
    const { resealed, secrets } = await resealAll(store, vault)
    if (inFile) adoptNextMasterKey(keys.file)
    const rest = inFile
      ? `${keys.file} holds the new key. Older backups need the old one.`
      : "MILLRACE_RETIRED_MASTER_KEYS is no longer needed. Older backups need the old key."
    return `${resealed} of ${secrets} secrets were re-encrypted with the master key ${vault.keyId}. ${rest}`
  } finally {
    await store.stop()
  }
}
