// Jobs of knowledge: reading versions, and updating the index.
import { defineJob } from "#core"
import { dropFileRef, indexRef, readRef } from "./collections.ts"
import { IndexerToken } from "./indexing/indexer.ts"
import { Reading } from "./reading/reading.ts"
import { Uploads } from "./uploads/uploads.ts"

export const readVersion = defineJob(readRef, {
  summary: "Read a version of a knowledge item in.",
  // The key is the host of the document's URL.
  limitsKeys: true,
  inject: { reading: Reading },
  run: ({ payload, deps, organization = "", work, signal, last }) =>
    deps.reading.read(work, organization, payload.item_id, payload.version, { signal, last }),
  exhausted: ({ payload, deps, organization = "", work }) => deps.reading.giveUp(work, organization, payload.item_id, payload.version),
})

export const dropUpload = defineJob(dropFileRef, {
  summary: "Remove a document that was uploaded and that no item was made of.",
  inject: { uploads: Uploads },
  run: ({ payload, deps, organization = "", work }) => deps.uploads.expire(work, organization, payload.upload_id),
})

export const indexKnowledge = defineJob(indexRef, {
  summary: "Index the knowledge items of an organization that were changed.",
  // One job at a time: changes during a run are indexed together in the next run.
  slots: 1,
  inject: { indexer: IndexerToken },
  async run({ payload, deps, organization = "", work, log }) {
    if (payload.vectors) await deps.indexer.retryVectors(work, organization)
    else await deps.indexer.run(organization, log)
  },
})
