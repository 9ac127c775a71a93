// Signed links to objects in the folder, answered by the service itself. (Links to S3 are answered by S3.)
import { AppError, Clock, defineRoute, Vault } from "#core"
import { Buckets } from "./buckets.ts"
import { isDownload, mediaTypeOf } from "./keys.ts"
import { checkLink, objectPath } from "./signed-link.ts"

export const readObject = defineRoute({
  name: "buckets.read_object",
  summary: "Read an object by a signed link.",
  method: "GET",
  path: objectPath,
  origins: "any",
  inject: { buckets: Buckets, vault: Vault, clock: Clock },
  async handle({ request, deps }) {
    const { organization = "", key = "" } = request.params
    const now = deps.clock.now()
    const verdict = checkLink(deps.vault.keyFor("buckets"), { organization, key }, request.query, now)
    if (verdict === "forged")
      throw new AppError("permission_denied", "The link's signature does not match.", { reason: "invalid_signature" })
    if (verdict === "expired")
      throw new AppError("permission_denied", "The link has expired; ask for a new one.", { reason: "link_expired" })
    const found = await deps.buckets.open(organization).get(key)
    if (!found) throw new AppError("not_found", "The object does not exist.", { reason: "object_not_found" })
    const lifeS = Math.max(0, Math.floor(Number(request.query.get("expires")) - now / 1_000))
    return {
      headers: {
        "Content-Type": mediaTypeOf(key) ?? "application/octet-stream",
        "Content-Length": String(found.size),
        "X-Content-Type-Options": "nosniff",
        ...(isDownload(key) && { "Content-Disposition": "attachment" }),
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Cache-Control": `private, max-age=${lifeS}`,
        "Cross-Origin-Resource-Policy": "cross-origin",
        "Referrer-Policy": "no-referrer",
      },
      body: found.chunks,
    }
  },
})
