// The vault, from the configured master key or the one kept in the data folder.
import { Settings } from "../kernel/config.ts"
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
