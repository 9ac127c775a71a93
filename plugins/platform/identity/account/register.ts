// Declares a person's own account.
import { Clock, JobQueue, type Registrar, Store, UnitsOfWork, Vault } from "#core"
import { noticeMail } from "../notices.ts"
import { Passkeys } from "../passkeys/passkeys.ts"
import { UserSessions } from "../user-sessions.ts"
import { Users } from "../users.ts"
import { AddressChanges, createAddressChanges } from "./address-changes.ts"
import { addressCodeMail } from "./address-mail.ts"
import { AddressChangesCollection } from "./collections.ts"
import { changeAddress, confirmAddress, deleteAccount } from "./operations.ts"
import { createRecovery, Recovery } from "./recovery.ts"

export function registerAccount(reg: Registrar, settings: { readonly codes_per_email_hour: number }): void {
  reg.collections(AddressChangesCollection)
  reg.jobs(noticeMail, addressCodeMail)
  reg.operations(changeAddress, confirmAddress, deleteAccount)
  reg.provide(AddressChanges, {
    inject: { store: Store, works: UnitsOfWork, clock: Clock, vault: Vault, queue: JobQueue, users: Users, sessions: UserSessions },
    create(deps) {
      const changes = createAddressChanges(deps, { perEmail: settings.codes_per_email_hour })
      deps.users.onDeparture((work, { id }) => changes.drop(work, id))
      return changes
    },
  })
  reg.provide(Recovery, {
    inject: { sessions: UserSessions, passkeys: Passkeys, changes: AddressChanges, queue: JobQueue, clock: Clock },
    create: createRecovery,
  })
}
