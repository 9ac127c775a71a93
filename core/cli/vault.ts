// The vault for commands that run beside a service or without one.
import { BootError, type CoreConfig } from "../kernel/config.ts"
import { loadMasterKeys } from "../kernel/master-keys.ts"
import { createVault, type Vault } from "../kernel/vault.ts"

/** Opens the vault of the configured service. Throws BootError before the first start of the service. */
export function openVault({ master_key, retired_master_keys, data_dir }: CoreConfig, production: boolean): Vault {
  const keys = loadMasterKeys({ configured: master_key, retired: retired_master_keys, dataDir: data_dir, production })
  if (keys.source === undefined)
    throw new BootError([`The service has no master key: ${keys.file} does not exist. Start the service first.`])
  return createVault(keys.current, keys.retired)
}
