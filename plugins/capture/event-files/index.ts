// Files of forms: stored in the bucket, referred to by events, downloaded by link, removed with the payload of the event.
import { Clock, definePlugin, JobQueue, Settings, Store, UnitsOfWork } from "#core"
import { EventFiles } from "#core/engine"
import { Buckets } from "../../data/buckets/index.ts"
import { EventFilesCollection, FileUsageCollection } from "./collections.ts"
import { EventFileErasure, eventFileErasure, eventFileErasureNeeds } from "./erasure.ts"
import { fileKeeper } from "./keeper.ts"
import { listEventFiles } from "./operations.ts"
import { reasons } from "./reasons.ts"
import { removeJob } from "./remove-job.ts"
import { EventFileSettings } from "./settings.ts"

export { EventFileErasure } from "./erasure.ts"

export default definePlugin({
  id: "event-files",
  reasons,
  needs: ["buckets"],
  config: EventFileSettings,
  register(registrar, settings) {
    registrar.collections(EventFilesCollection, FileUsageCollection)
    registrar.jobs(removeJob)
    registrar.operations(listEventFiles)
    registrar.provide(EventFileErasure, {
      inject: eventFileErasureNeeds,
      create: (deps) => eventFileErasure(deps),
    })
    registrar.run("files of forms", {
      inject: { files: EventFiles, store: Store, works: UnitsOfWork, queue: JobQueue, buckets: Buckets, clock: Clock, config: Settings },
      create: ({ files, config, ...services }) =>
        files.use(fileKeeper({ ...services, settings, payloadsDays: config.retention.payloads_days })),
    })
  },
})
