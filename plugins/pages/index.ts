// Pages: the artifacts that forms and experiments live on. Kept and published here; serving them is not this plugin's.
import { z } from "zod"
import { Clock, Coherence, definePlugin, Ids, Store } from "#core"
import { PagesCollection } from "./collections.ts"
import { createPage, getPage, listPages, publishPage, unpublishPage, updatePage } from "./operations/pages.ts"
import { createPages, Pages } from "./pages.ts"

export type { StoredPage, Variant } from "./collections.ts"
export { Pages, type PublishHook, pagesTopic } from "./pages.ts"

export default definePlugin({
  id: "pages",
  config: z.strictObject({}),
  register(reg) {
    reg.collections(PagesCollection)
    reg.operations(createPage, listPages, getPage, updatePage, publishPage, unpublishPage)
    reg.provide(Pages, { inject: { store: Store, coherence: Coherence, clock: Clock, ids: Ids }, create: createPages })
  },
})
