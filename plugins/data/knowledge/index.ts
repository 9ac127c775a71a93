// Knowledge: documents of an organization with a text search.
import { Clock, definePlugin, Ids, JobQueue, Store, token, UnitsOfWork } from "#core"
import { Models } from "../../agents/models/index.ts"
import {
  FileCollection,
  IndexCollection,
  KnowledgeToken,
  OpeningCollection,
  PartCollection,
  RemovalCollection,
  UploadCollection,
  VersionCollection,
} from "./collections.ts"
import { IndexWorker, IndexWorkerToken } from "./indexing/index-worker.ts"
import { Indexer, IndexerToken } from "./indexing/indexer.ts"
import { Segments } from "./indexing/segments.ts"
import { KnowledgeResource } from "./item.ts"
import { dropUpload, indexKnowledge, readVersion } from "./jobs.ts"
import { Knowledge } from "./knowledge.ts"
import { getVersion, listItems, listVersions } from "./operations/items.ts"
import { searchKnowledge } from "./operations/search.ts"
import { uploadDocument } from "./operations/upload.ts"
import { Reading } from "./reading/reading.ts"
import { reasons } from "./reasons.ts"
import { Searcher, SearcherToken } from "./searching/search.ts"
import { KnowledgeSettings, KnowledgeSettingsToken } from "./settings.ts"
import { receiveUpload } from "./uploads/upload-route.ts"
import { Uploads } from "./uploads/uploads.ts"

const SegmentsToken = token<Segments>("KnowledgeSegments")

export default definePlugin({
  id: "knowledge",
  reasons,
  needs: ["buckets", "models", "organizations", "outgoing-http"],
  config: KnowledgeSettings,
  register(registrar, settings) {
    registrar.resources(KnowledgeResource)
    registrar.collections(VersionCollection, UploadCollection, IndexCollection, PartCollection, RemovalCollection)
    registrar.collections(FileCollection, OpeningCollection)
    registrar.operations(listItems, listVersions, getVersion, searchKnowledge, uploadDocument)
    registrar.routes(receiveUpload(settings.max_uploaded_bytes))
    registrar.jobs({ ...readVersion, slots: settings.readers }, indexKnowledge, dropUpload)
    registrar.provide(KnowledgeSettingsToken, { create: () => settings })
    registrar.provide(SegmentsToken, {
      inject: { store: Store },
      create: ({ store }) => new Segments(store, settings.index_memory_mb * 2 ** 20),
      stop: (segments) => segments.stop(),
    })
    registrar.provide(IndexWorkerToken, { create: () => new IndexWorker(), stop: (thread) => thread.stop() })
    registrar.provide(IndexerToken, {
      inject: {
        store: Store,
        clock: Clock,
        ids: Ids,
        works: UnitsOfWork,
        queue: JobQueue,
        models: Models,
        segments: SegmentsToken,
        thread: IndexWorkerToken,
      },
      create: (deps) => new Indexer(deps),
    })
    registrar.provide(Uploads)
    registrar.provide(KnowledgeToken, { inject: Knowledge.inject, create: (deps) => new Knowledge({ ...deps, settings }) })
    registrar.provide(Reading, { create: (deps) => new Reading({ ...deps, settings }) })
    registrar.provide(SearcherToken, {
      inject: { store: Store, models: Models, segments: SegmentsToken },
      create: (deps) => new Searcher(deps),
    })
  },
})
