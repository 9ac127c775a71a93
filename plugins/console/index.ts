// The console at /console: a web page for people, using only the API. Its generic views come from the declared operations.
import { z } from "zod"
import { Clock, definePlugin, injected, PublicUrl, Settings, Vault } from "#core"
import { Declarations, Listening } from "#core/engine"
import { type ConnectionLink, ConnectionLinks } from "../agents/integrations/index.ts"
import { type ApprovalLink, ApprovalLinks } from "../platform/approvals/index.ts"
import { createOperatorLink } from "../platform/identity/index.ts"
import { Bootstrap } from "../platform/organizations/index.ts"
import { Catalog, createCatalog } from "./catalog.ts"
import { reasons } from "./reasons.ts"
import { asset, ConsoleAssets, catalog, createAssets, pages } from "./routes.ts"
import { join } from "./sign-in/join.ts"
import { offerPasskey, signInByPasskey } from "./sign-in/passkeys.ts"
import { requestCode, session, signIn, signOut } from "./sign-in/routes.ts"

export default definePlugin({
  id: "console",
  reasons,
  needs: ["organizations", "approvals", "integrations", "identity", "email"],
  config: z.strictObject({}),
  extend: [
    [ApprovalLinks, injected({ publicUrl: PublicUrl }, ({ publicUrl }) => approvalLink(publicUrl))],
    [ConnectionLinks, injected({ publicUrl: PublicUrl }, ({ publicUrl }) => connectionLink(publicUrl))],
  ],
  register(registrar) {
    registrar.provide(ConsoleAssets, { inject: { settings: Settings }, create: ({ settings }) => createAssets(settings.plugins.paths) })
    registrar.provide(Catalog, { inject: { declared: Declarations }, create: ({ declared: declarations }) => createCatalog(declarations) })
    registrar.routes(...pages, asset, catalog, session, requestCode, signIn, signOut, join)
    registrar.routes(offerPasskey, signInByPasskey)
    registrar.run("console greeting", {
      inject: { bootstrap: Bootstrap, listening: Listening, vault: Vault, clock: Clock },
      create({ bootstrap, listening, vault, clock }) {
        const link = () => createOperatorLink(vault, clock.now(), { owner: true })
        return listening.onListening((baseUrl) => greeting(bootstrap, link, baseUrl, process.stdout.isTTY === true))
      },
    })
  },
})

// The console lines printed at start: the address, and a link for the first owner.

/** Only a terminal shows the link, because logs store their output. Browsers never send the part behind `#`. */
export function greeting(
  { isUnclaimed }: Pick<Bootstrap, "isUnclaimed">,
  link: () => string,
  baseUrl: string,
  isTerminal: boolean,
): string {
  const address = `${baseUrl}/console`
  if (!isUnclaimed) return `  console        ${address}`
  if (!isTerminal) return `  console        ${address}\n                 print a link for the first owner: millrace sign-in-link --owner`
  return `  console        ${address}#code=${link()}\n                 names the first owner and signs in once, within ten minutes`
}

/** Console addresses for links of other plugins. */
function approvalLink(publicUrl: PublicUrl): ApprovalLink {
  return (id) => `${publicUrl()}/console/approvals${id === undefined ? "" : `/${encodeURIComponent(id)}`}`
}

function connectionLink(publicUrl: PublicUrl): ConnectionLink {
  return (id) => `${publicUrl()}/console/integrations/${encodeURIComponent(id)}`
}
