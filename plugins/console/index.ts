// The console: a page of the service's own, at /console, for people who look at what the API holds. It calls nothing but
// the API; what an area has to show is read from what its operations declare.
import { z } from "zod"
import { Clock, definePlugin, PublicUrl } from "#core"
import { Declarations, Listening } from "#core/engine"
import { Bootstrap, Sessions } from "../organizations/index.ts"
import { ConsoleAssets, createAssets } from "./assets.ts"
import { Catalog, createCatalog } from "./catalog.ts"
import { greeting } from "./greeting.ts"
import { reasons } from "./reasons.ts"
import { asset, catalog, page, pageBelow, signIn, signOut } from "./routes.ts"

export default definePlugin({
  id: "console",
  reasons,
  needs: ["organizations"],
  config: z.strictObject({}),
  register(registrar) {
    registrar.provide(ConsoleAssets, { create: createAssets })
    registrar.provide(Catalog, { inject: { declared: Declarations }, create: ({ declared }) => createCatalog(declared) })
    registrar.routes(page, pageBelow, asset, catalog, signIn, signOut)
    registrar.run("console greeting", {
      inject: { bootstrap: Bootstrap, listening: Listening, sessions: Sessions, publicUrl: PublicUrl, clock: Clock },
      create: ({ bootstrap, listening, sessions }) => listening.onListening((baseUrl) => greeting(bootstrap, sessions, baseUrl)),
    })
  },
})
