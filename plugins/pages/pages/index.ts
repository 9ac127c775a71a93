// Pages: HTML artifacts for forms and experiments. This plugin stores, publishes and serves them.
// Other plugins declare the targets of forms and events.
import { definePlugin } from "#core"
import { WeightChangesCollection } from "./collections.ts"
import { listPages, publishPage, unpublishPage } from "./operations/pages.ts"
import { PageResource } from "./page.ts"
import { createPages, Pages, PublishHooks, pagesNeeds } from "./pages.ts"
import { reasons } from "./reasons.ts"
import { rehearsedPage } from "./rehearsal.ts"
import { createPageParts, PageEventTargets, PageFormTargets, PageParts, Serving } from "./serving/parts.ts"
import { sendForm, servePage } from "./serving/routes.ts"
import { PageServing } from "./serving/serve.ts"
import { PageSettings } from "./settings.ts"
import { createVisitors, SaltsCollection, Visitors, visitorsNeeds } from "./visitors.ts"

export type { WeightChange } from "./collections.ts"
export type { StoredPage } from "./page.ts"
export { pageText } from "./page-text.ts"
export { Pages, type PublishHook, PublishHooks } from "./pages.ts"
export { type EventTarget, PageEventTargets, type PageForms, PageFormTargets, Serving } from "./serving/parts.ts"
export type { PageServing } from "./serving/serve.ts"
export { chooseVariant, shownVariant } from "./serving/variants.ts"
export { type VisitorSessions, Visitors } from "./visitors.ts"

export default definePlugin({
  id: "pages",
  reasons,
  needs: ["organizations"],
  config: PageSettings,
  extensionPoints: [PublishHooks, PageFormTargets, PageEventTargets],
  register(reg, settings) {
    reg.resources(PageResource)
    reg.collections(SaltsCollection, WeightChangesCollection)
    reg.operations(listPages, publishPage, unpublishPage)
    reg.rehearsal({ name: "page", run: rehearsedPage })
    reg.routes(servePage, sendForm)
    reg.provide(Pages, { inject: pagesNeeds, create: createPages })
    reg.provide(Visitors, { inject: visitorsNeeds, create: createVisitors })
    reg.provide(PageParts, { inject: { forms: PageFormTargets, events: PageEventTargets }, create: createPageParts })
    reg.provide(Serving, { inject: PageServing.inject, create: (deps) => new PageServing({ ...deps, settings }) })
  },
})
