// Screenshots: pictures of pages, from an isolated browser.
import { join } from "node:path"
import { Clock, definePlugin, Ids, JobQueue, Log, OutgoingHttp, Settings, Store, token } from "#core"
import { Buckets } from "../../data/buckets/index.ts"
import { Organizations } from "../../platform/organizations/index.ts"
import { OutgoingSockets } from "../../platform/outgoing-http/index.ts"
import { Pages, Serving } from "../pages/index.ts"
import { ScreenshotCollection } from "./collection.ts"
import { readImage } from "./image.ts"
import { screenshotResult, startScreenshot } from "./operations.ts"
import { reasons } from "./reasons.ts"
import { createRenderer, type Renderer, ScreenshotSettings } from "./render/renderer.ts"
import { createScreenshots, expireScreenshot, renderScreenshot, Screenshots } from "./screenshots.ts"
import { ownPagesOf } from "./target.ts"

export { Screenshots } from "./screenshots.ts"

const RendererToken = token<Renderer>("Renderer")

export default definePlugin({
  id: "screenshots",
  reasons,
  needs: ["buckets", "organizations", "outgoing-http", "pages"],
  config: ScreenshotSettings,
  register(reg, config) {
    reg.collections(ScreenshotCollection)
    reg.operations(startScreenshot, screenshotResult)
    reg.routes(readImage)
    // Separate slots: renders and mail do not delay each other. A page may take its whole deadline, so with several browsers one
    // is reserved for other organizations.
    const reservedSlots = config.concurrency > 1 ? Math.max(1, Math.floor(config.concurrency / 4)) : 0
    reg.jobs({ ...renderScreenshot, slots: config.concurrency, reservedSlots }, expireScreenshot)
    reg.provide(RendererToken, {
      inject: { settings: Settings, sockets: OutgoingSockets, serving: Serving, clock: Clock, log: Log },
      create: ({ settings, serving, ...deps }) =>
        createRenderer({
          ...deps,
          settings: config,
          ownPages: () => ownPagesOf(serving),
          browserFolder: config.browser_folder ?? join(settings.data_dir, "chromium"),
        }),
      stop: (renderer) => renderer.stop(),
    })
    reg.provide(Screenshots, {
      inject: {
        store: Store,
        queue: JobQueue,
        buckets: Buckets,
        organizations: Organizations,
        pages: Pages,
        http: OutgoingHttp,
        renderer: RendererToken,
        serving: Serving,
        clock: Clock,
        ids: Ids,
      },
      create: (deps) => createScreenshots({ ...deps, settings: config }),
    })
  },
})
