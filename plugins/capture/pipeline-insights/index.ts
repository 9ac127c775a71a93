// Statistics of events beside their path: events by minute, drift of their shape, and the use of verification secrets.
// Each node counts ended events in memory after their answers, and writes its counts every few seconds.

import { z } from "zod"
import { Clock, definePlugin, injected, Live, Log, Store, token, UnitsOfWork, Vault } from "#core"
import { SettledEvents } from "#core/engine"
import { PlanNotes } from "../pipeline-files/index.ts"
import { ClientAddresses, SecretUseSources } from "../pipelines/index.ts"
import { EventMinutes } from "./activity/collection.ts"
import { ActivityCounter } from "./activity/counter.ts"
import { EventActivity, eventActivity } from "./activity/service.ts"
import { SchemaSketches } from "./drift/collection.ts"
import { driftNotes, SchemaDrift, schemaDrift } from "./drift/service.ts"
import { Sketcher, schemaDriftChannel } from "./drift/sketcher.ts"
import { getActivity } from "./operations/activity.ts"
import { getDrift, patchDrift } from "./operations/drift.ts"
import { reasons } from "./reasons.ts"
import { SecretUses } from "./secret-use/collection.ts"
import { SecretUseCounter, secretUses } from "./secret-use/counter.ts"

const Settings = z.strictObject({
  enabled: z
    .boolean()
    .default(true)
    .describe("Whether events are counted for activity, schema drift and the use of secrets. Stored counts expire as before."),
})

const SketcherToken = token<Sketcher>("sketches of events")
const Activity = token<ActivityCounter>("counts of events")
const Counter = token<SecretUseCounter>("use of verification secrets")
const counting = { store: Store, works: UnitsOfWork, clock: Clock, log: Log, settled: SettledEvents }

export default definePlugin({
  id: "pipeline-insights",
  reasons,
  needs: ["event-pipelines", "pipeline-files"],
  config: Settings,
  extend: ({ enabled }) =>
    enabled
      ? [
          [PlanNotes, injected({ drift: SchemaDrift }, driftNotes)],
          [SecretUseSources, injected({ store: Store, clock: Clock, counter: Counter }, secretUses)],
        ]
      : [],
  register(registrar, { enabled }) {
    // Registered even if the plugin is off, so that stored counts expire and leave with their organization.
    registrar.collections(SecretUses, SchemaSketches, EventMinutes)
    if (!enabled) return
    registrar.provide(Counter, {
      inject: { ...counting, addresses: ClientAddresses },
      create: (deps) => new SecretUseCounter(deps),
      stop: (counter) => counter.stop(),
    })
    registrar.provide(Activity, {
      inject: counting,
      create: (deps) => new ActivityCounter(deps),
      stop: (counter) => counter.stop(),
    })
    registrar.provide(SketcherToken, {
      inject: { ...counting, live: Live, vault: Vault },
      create: (deps) => new Sketcher(deps),
      stop: (sketcher) => sketcher.stop(),
    })
    registrar.run("observers of events", {
      inject: { secrets: Counter, activity: Activity, sketcher: SketcherToken, settled: SettledEvents },
      create: ({ secrets, activity, sketcher, settled }) =>
        settled.use((event) => {
          activity.observe(event)
          secrets.observe(event)
          sketcher.observe(event)
        }),
    })
    registrar.provide(EventActivity, { inject: { store: Store, clock: Clock, counter: Activity }, create: eventActivity })
    registrar.provide(SchemaDrift, { inject: { store: Store, vault: Vault, sketcher: SketcherToken }, create: schemaDrift })
    registrar.channels(schemaDriftChannel)
    registrar.operations(getDrift, patchDrift, getActivity)
  },
})
