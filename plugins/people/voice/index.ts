// Voice: the name that carriers show for an organization's number, registered only where a person approved it.
import { Clock, definePlugin, Ids, JobQueue, Live, PublicUrl, Store, UnitsOfWork, Vault } from "#core"
import { Gatekeeper } from "#core/engine"
import { Integrations } from "../../agents/integrations/index.ts"
import { statusCallback } from "./callback.ts"
import { voiceChannel } from "./channel.ts"
import { CallerNameCollection, RegistrationCollection } from "./collections.ts"
import { registerJob } from "./job.ts"
import { getCallerName, listRegistrations, provisionCallerName, setCallerName } from "./operations/caller-name.ts"
import { reasons } from "./reasons.ts"
import { Registrar, RegistrarToken } from "./registrar.ts"
import { Registrations, RegistrationsToken } from "./registrations.ts"
import { VoiceSettings } from "./settings.ts"

export default definePlugin({
  id: "voice",
  reasons,
  needs: ["approvals", "integrations"],
  config: VoiceSettings,
  register(registrar, settings) {
    registrar.collections(CallerNameCollection, RegistrationCollection)
    registrar.operations(setCallerName, getCallerName, provisionCallerName, listRegistrations)
    registrar.channels(voiceChannel)
    registrar.jobs(registerJob)
    registrar.routes(statusCallback)
    registrar.provide(RegistrationsToken, {
      inject: { store: Store, clock: Clock, ids: Ids, queue: JobQueue, live: Live, keeper: Gatekeeper, integrations: Integrations },
      create: (deps) => new Registrations(deps),
    })
    registrar.provide(RegistrarToken, {
      inject: {
        store: Store,
        clock: Clock,
        works: UnitsOfWork,
        vault: Vault,
        publicUrl: PublicUrl,
        keeper: Gatekeeper,
        integrations: Integrations,
        registrations: RegistrationsToken,
      },
      create: (deps) => new Registrar({ ...deps, settings }),
    })
  },
})
