// Auth modes of inbound events, and facts about known providers for other plugins.
import { z } from "zod"
import { defineAuthMode, definePlugin } from "#core"
import { Outgoing, type OutgoingCapture } from "#core/engine"
import { Pages } from "../pages/pages/index.ts"
import { verifyCommand } from "./commands/verify.ts"
import { createKeyFetcher, KeyFetcher } from "./key-fetcher.ts"
import { authenticatedViewer } from "./modes/authenticated-viewer.ts"
import { hmacSha256 } from "./modes/hmac-sha256.ts"
import { providerSignature } from "./modes/provider-signature.ts"
import { publicArtifactMode } from "./modes/public-artifact.ts"
import { sharedSecretHeader } from "./modes/shared-secret-header.ts"
import { timestampedSignature } from "./modes/timestamped-signature.ts"
import { reasons } from "./reasons.ts"

export { verifyCaptured } from "./captured.ts"
export { providerFacts } from "./provider-facts.ts"

export default definePlugin({
  id: "inbound-auth",
  reasons,
  needs: ["organizations", "pages"],
  config: z.strictObject({}),
  commands: [verifyCommand],
  async generates() {
    const { providerPage, providerPageFile } = await import("./provider-page.ts")
    return [{ file: providerPageFile, text: providerPage() }]
  },
  register(reg) {
    reg.provide(KeyFetcher, {
      inject: { outgoing: Outgoing },
      create: ({ outgoing }) => createKeyFetcher(outgoing.capture && captureFetch(outgoing.capture)),
    })
    reg.authModes(
      hmacSha256,
      sharedSecretHeader,
      timestampedSignature,
      providerSignature,
      authenticatedViewer,
      publicArtifactMode(Pages),
      noAuth,
    )
  },
})

/** Fetches keys from captured responses. */
function captureFetch(capture: OutgoingCapture): (url: string) => Promise<Response> {
  return async (url) => {
    const { status, headers, body } = await capture.call({ method: "GET", url, headers: {}, body: null })
    return new Response(body, { status, headers: { ...headers } })
  }
}

/** `none`: no check. The endpoint's unguessable address is the only protection. */
const noAuth = defineAuthMode({
  mode: "none",
  summary: "No check at all.",
  description: "Anyone who knows the endpoint's address may send events. Also the mode of `internal` pipelines, which have no endpoint.",
  config: z.strictObject({}),
  examples: [{ title: "An endpoint for anyone who knows its address", yaml: "auth_mode: none" }],
  secret: () => "none",
  prepare: () => ({ verify: () => ({ ok: true }), coversBody: false, retries: true }),
  sign: () => ({}),
})
