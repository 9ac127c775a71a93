// Screenshots: pictures of pages, taken by a browser that is kept apart from everything else.
import { join } from "node:path"
import { Clock, definePlugin, Ids, JobQueue, Log, PublicUrl, Settings, Store, token } from "#core"
import { Buckets } from "../buckets/index.ts"
import { Organizations } from "../organizations/index.ts"
import { OutgoingHttp, OutgoingSockets } from "../outgoing-http/index.ts"
import { Pages } from "../pages/index.ts"
import { ScreenshotCollection } from "./collection.ts"
import { expireScreenshot, renderScreenshot } from "./jobs.ts"
import { screenshotResult, startScreenshot } from "./operations.ts"
import { createRenderer, type Renderer } from "./render/renderer.ts"
import { createScreenshots, Screenshots } from "./screenshots.ts"
import { ScreenshotSettings } from "./settings.ts"
import { pagesPrefix } from "./target.ts"

const RendererToken = token<Renderer>("Renderer")

export default definePlugin({
  id: "screenshots",
  needs: ["buckets", "organizations", "outgoing-http", "pages"],
  config: ScreenshotSettings,
  register(reg, config) {
    const ownPagesOf = (publicUrl: () => string) => () => ({ origin: new URL(publicUrl()).origin, prefix: pagesPrefix })
    reg.collections(ScreenshotCollection)
    reg.operations(startScreenshot, screenshotResult)
    reg.jobs(renderScreenshot, expireScreenshot)
    reg.provide(RendererToken, {
      inject: { settings: Settings, sockets: OutgoingSockets, publicUrl: PublicUrl, clock: Clock, log: Log },
      create: ({ settings, publicUrl, ...deps }) =>
        createRenderer({
          ...deps,
          settings: config,
          ownPages: ownPagesOf(publicUrl),
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
        publicUrl: PublicUrl,
        clock: Clock,
        ids: Ids,
      },
      create: ({ publicUrl, ...deps }) => createScreenshots({ ...deps, settings: config, ownPages: ownPagesOf(publicUrl) }),
    })
  },
})
