// One pipeline per auth mode, otherwise equal, with accepted requests.
import { randomBytes } from "node:crypto"
import { publishPage } from "../pages/page.ts"
import type { Service } from "../service/service.ts"
import { type InboundRequest, lead, leadBytes, makePipeline, signedRequest } from "./pipelines.ts"

export const authModes = [
  "none",
  "shared_secret_header",
  "hmac_sha256",
  "provider_signature",
  "public_artifact",
  "authenticated_viewer",
] as const
export type AuthMode = (typeof authModes)[number]

export async function authRequest(service: Service, mode: AuthMode): Promise<InboundRequest> {
  const name = `Auth ${mode.replaceAll("_", " ")}`
  switch (mode) {
    case "none": {
      return { url: (await makePipeline(service, { name, auth_mode: mode })).inbound_url, body: lead() }
    }
    case "hmac_sha256": {
      return signedRequest(await makePipeline(service, { name }))
    }
    case "shared_secret_header": {
      const { inbound_url, secret = "" } = await makePipeline(service, { name, auth_mode: mode })
      return { url: inbound_url, body: lead(), headers: { "x-webhook-secret": secret } }
    }
    case "provider_signature": {
      const secret = randomBytes(24).toString("hex")
      const { inbound_url } = await makePipeline(service, { name, auth_mode: mode, auth_config: { provider: "github", secret } })
      return { url: inbound_url, body: lead(), hmac: { header: "x-hub-signature-256", secret }, headers: { "x-github-event": "push" } }
    }
    case "public_artifact": {
      const page = await publishPage(service)
      const { inbound_url } = await makePipeline(service, { name, auth_mode: mode, owner_artifact_id: page.id })
      return { url: inbound_url, body: { kind: "lead", bytes: leadBytes, artifact: page.id } }
    }
    case "authenticated_viewer": {
      const { token } = await service.api<{ token: string }>("POST", "/v1/viewer-sessions", {})
      const { inbound_url } = await makePipeline(service, { name, auth_mode: mode })
      return { url: inbound_url, body: lead(), headers: { authorization: `Bearer ${token}` } }
    }
  }
}
