// Knowledge: documents of an organization, read in and found by what they say.
import { Clock, definePlugin, Ids, JobQueue, OutgoingHttp, Store, token, UnitsOfWork } from "#core"
import { Models } from "../models/index.ts"
import { IndexCollection, ItemCollection, PartCollection, RemovalCollection, UploadCollection, VersionCollection } from "./collections.ts"
import { Indexer, IndexerToken } from "./indexing/indexer.ts"
import { Segments } from "./indexing/segments.ts"
import { indexKnowledge, readVersion } from "./jobs.ts"
import { Knowledge, KnowledgeToken } from "./knowledge.ts"
import { createItem, deleteItem, getItem, getVersion, listItems, listVersions, updateItem } from "./operations/items.ts"
import { searchKnowledge } from "./operations/search.ts"
import { Reading, ReadingToken } from "./reading/reading.ts"
import { reasons } from "./reasons.ts"
import { Searcher, SearcherToken } from "./searching/search.ts"
import { KnowledgeSettings } from "./settings.ts"

const SegmentsToken = token<Segments>("KnowledgeSegments")

export default definePlugin({
  id: "knowledge",
  reasons,
  needs: ["models", "outgoing-http"],
  config: KnowledgeSettings,
  register(registrar, settings) {
    registrar.collections(ItemCollection, VersionCollection, UploadCollection, IndexCollection, PartCollection, RemovalCollection)
    registrar.operations(createItem, listItems, getItem, updateItem, deleteItem, listVersions, getVersion, searchKnowledge)
    registrar.jobs({ ...readVersion, slots: settings.readers }, indexKnowledge)
    registrar.provide(SegmentsToken, {
      inject: { store: Store },
      create: ({ store }) => new Segments(store, settings.index_memory_mb * 2 ** 20),
    })
    registrar.provide(IndexerToken, {
      inject: { store: Store, clock: Clock, ids: Ids, works: UnitsOfWork, queue: JobQueue, models: Models, segments: SegmentsToken },
      create: (deps) => new Indexer(deps),
    })
    registrar.provide(KnowledgeToken, {
      inject: { store: Store, clock: Clock, ids: Ids, queue: JobQueue, indexer: IndexerToken },
      create: (deps) => new Knowledge({ ...deps, settings }),
    })
    registrar.provide(ReadingToken, {
      inject: { store: Store, http: OutgoingHttp, knowledge: KnowledgeToken },
      create: (deps) => new Reading({ ...deps, settings }),
    })
    registrar.provide(SearcherToken, {
      inject: { store: Store, models: Models, segments: SegmentsToken },
      create: (deps) => new Searcher(deps),
    })
  },
})
