// Voice: the caller name for an organization's number. A registration requires a person's approval.
import { definePlugin } from "#core"
import { statusCallback } from "./callback.ts"
import { voiceChannel } from "./channel.ts"
import { CallerNameCollection, RegistrationCollection } from "./collections.ts"
import { registerJob } from "./job.ts"
import { getCallerName, listRegistrations, provisionCallerName, setCallerName } from "./operations/caller-name.ts"
import { reasons } from "./reasons.ts"
import { Registrar } from "./registrar.ts"
import { Registrations } from "./registrations.ts"
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
    registrar.provide(Registrations)
    registrar.provide(Registrar, { create: (deps) => new Registrar({ ...deps, settings }) })
  },
})
