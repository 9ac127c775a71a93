// The vault, with the configured master key or the key in the data folder.
import { BootError, type CoreConfig, Settings } from "../kernel/config.ts"
import { type Container, token } from "../kernel/di.ts"
import { type MasterKeys as LoadedKeys, loadMasterKeys } from "../kernel/master-keys.ts"
import { createVault, Vault } from "../kernel/vault.ts"

export const MasterKeys = token<LoadedKeys>("MasterKeys")

export function provideVault(container: Container, production: boolean): void {
  container.provide(MasterKeys, {
    inject: { config: Settings },
    create: ({ config }) =>
      loadMasterKeys({
        configured: config.master_key,
        retired: config.retired_master_keys,
        dataDir: config.data_dir,
        production,
      }),
  })
  container.provide(Vault, { inject: { keys: MasterKeys }, create: ({ keys }) => createVault(keys.current, keys.retired) })
}

/** Opens the vault of the configured service. Throws BootError before the first start of the service. */
export function openVault({ master_key, retired_master_keys, data_dir }: CoreConfig, production: boolean): Vault {
  const keys = loadMasterKeys({ configured: master_key, retired: retired_master_keys, dataDir: data_dir, production })
  if (keys.source === undefined)
    throw new BootError([`The service has no master key: ${keys.file} does not exist. Start the service first.`])
  return createVault(keys.current, keys.retired)
}
