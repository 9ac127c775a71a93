// Background statistics of events: events per minute, schema drift, and the use of verification secrets. Each node counts
// finished events in memory after the reply, and writes its counts every few seconds.

import { z } from "zod"
import { definePlugin, injected } from "#core"
import { SettledEvents } from "#core/engine"
import { PlanNotes } from "../pipeline-files/index.ts"
import { SecretUseSources } from "../pipelines/index.ts"
import { ActivityCounter, EventMinutes } from "./activity/counter.ts"
import { activityNeeds, EventActivity, eventActivity } from "./activity/service.ts"
import { driftNeeds, driftNotes, SchemaDrift, schemaDrift } from "./drift/service.ts"
import { SchemaSketches } from "./drift/sketch.ts"
import { Sketcher, schemaDriftChannel } from "./drift/sketcher.ts"
import { getActivity } from "./operations/activity.ts"
import { getDrift, patchDrift } from "./operations/drift.ts"
import { reasons } from "./reasons.ts"
import { SecretUseCounter, secretUses, secretUsesNeeds } from "./secret-use/counter.ts"
import { SecretUses } from "./secret-use/merge.ts"

const Settings = z.strictObject({
  enabled: z
    .boolean()
    .default(true)
    .describe("Whether events are counted for activity, schema drift and the use of secrets. Stored counts expire as before."),
})

export default definePlugin({
  id: "pipeline-insights",
  reasons,
  needs: ["event-pipelines", "pipeline-files"],
  config: Settings,
  extend: ({ enabled }) =>
    enabled
      ? [
          [PlanNotes, injected({ drift: SchemaDrift }, driftNotes)],
          [SecretUseSources, injected(secretUsesNeeds, secretUses)],
        ]
      : [],
  register(registrar, { enabled }) {
    // Registered even if the plugin is off: stored counts expire, and are deleted with their organization.
    registrar.collections(SecretUses, SchemaSketches, EventMinutes)
    if (!enabled) return
    registrar.provide(SecretUseCounter, { stop: (counter) => counter.stop() })
    registrar.provide(ActivityCounter, { stop: (counter) => counter.stop() })
    registrar.provide(Sketcher, { stop: (sketcher) => sketcher.stop() })
    registrar.run("observers of events", {
      inject: { secrets: SecretUseCounter, activity: ActivityCounter, sketcher: Sketcher, settled: SettledEvents },
      create: ({ secrets, activity, sketcher, settled }) =>
        settled.use((event) => {
          activity.observe(event)
          secrets.observe(event)
          sketcher.observe(event)
        }),
    })
    registrar.provide(EventActivity, { inject: activityNeeds, create: eventActivity })
    registrar.provide(SchemaDrift, { inject: driftNeeds, create: schemaDrift })
    registrar.channels(schemaDriftChannel)
    registrar.operations(getDrift, patchDrift, getActivity)
  },
})
