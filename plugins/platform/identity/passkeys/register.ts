// Declares passkeys.
import { Clock, Log, PublicUrl, type Registrar, Store, UnitsOfWork } from "#core"
import { importedAtStart } from "#core/engine"
import { SignIns } from "../sign-in/sign-ins.ts"
import { Users } from "../users.ts"
import { webauthn, webauthnDecoders } from "./answers.ts"
import { PasskeyChallengesCollection, PasskeysCollection } from "./collections.ts"
import { addPasskey, listPasskeys, offerPasskey, removePasskey, renamePasskey } from "./operations.ts"
import { createPasskeys, Passkeys } from "./passkeys.ts"
import { createPasskeySignIns, PasskeySignIns } from "./sign-in.ts"

export function registerPasskeys(reg: Registrar): void {
  reg.collections(PasskeysCollection, PasskeyChallengesCollection)
  reg.operations(listPasskeys, offerPasskey, addPasskey, renamePasskey, removePasskey)
  reg.run(
    "passkey library",
    importedAtStart(() => Promise.all([webauthn(), webauthnDecoders()])),
  )
  reg.provide(Passkeys, {
    inject: { store: Store, clock: Clock, publicUrl: PublicUrl, users: Users },
    create({ users, ...deps }) {
      const passkeys = createPasskeys(deps)
      users.onDeparture(async (work, { id }) => void (await passkeys.removeAllOf(work, id)))
      return passkeys
    },
  })
  reg.provide(PasskeySignIns, {
    inject: { store: Store, clock: Clock, publicUrl: PublicUrl, works: UnitsOfWork, users: Users, signIns: SignIns, log: Log },
    create: createPasskeySignIns,
  })
}
