// Serves a screenshot's image through the service. Its own pages load no images from other origins, such as signed S3 links.
import { parseCookie } from "cookie"
import { AppError, defineRoute, PublicUrl } from "#core"
import { Authenticator, Pauses, requireOrganization, sessionCookieOf } from "#core/engine"
import { Buckets } from "../../data/buckets/index.ts"
import { screenshotResult } from "./operations.ts"
import { Screenshots } from "./screenshots.ts"

const { scope } = screenshotResult.access

export const readImage = defineRoute({
  name: "screenshots.image",
  summary: "The image of a screenshot that is done.",
  method: "GET",
  path: "/v1/screenshot/images/{job_id}",
  whilePaused: "Asks Pauses once the credential names the organization.",
  inject: { publicUrl: PublicUrl, authenticator: Authenticator, pauses: Pauses, screenshots: Screenshots, buckets: Buckets },
  document: {
    description: "With a key, or with the session of a browser that has signed in. The link in the result of a screenshot needs neither.",
    path: { job_id: "Job id from screenshot/start." },
    answers: { 200: { description: "The image.", type: "image/png" }, 404: { description: "There is none, not yet or no longer." } },
  },
  async handle({ request, deps: { publicUrl, authenticator, pauses, screenshots, buckets } }) {
    const { params, headers, address, requestId, log } = request
    const session = parseCookie(headers["cookie"] ?? "")[sessionCookieOf(publicUrl())]
    const bearer = /^Bearer +(\S+)$/i.exec(headers["authorization"] ?? "")?.[1] ?? session
    const organization = headers["x-organization-id"]
    const credentials = { bearer, organization, surface: "rest", address, requestId, log } as const
    const caller = requireOrganization(await authenticator.authenticate(credentials), "The image")
    if (caller.scopes && !caller.scopes.has(scope))
      throw new AppError("permission_denied", `This token does not have the scope "${scope}", which the image needs.`, {
        reason: "missing_scope",
        needed_scope: scope,
        scopes: [...caller.scopes].sort(),
      })
    pauses.refuseCall(screenshotResult, caller)
    const screenshot = await screenshots.get(caller.organization.id, params["job_id"]?.toLowerCase() ?? "")
    const image = screenshot.status === "done" ? await buckets.open(caller.organization.id).get(screenshot.bucket_key) : undefined
    if (!image)
      throw new AppError("not_found", `The screenshot ${screenshot.id} has no image; it is ${screenshot.status}.`, {
        reason: "screenshot_not_found",
      })
    return {
      headers: {
        "Content-Type": image.media_type,
        "Content-Length": String(image.size),
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Cache-Control": "private, max-age=3600",
        "Cross-Origin-Resource-Policy": "same-origin",
      },
      body: image.chunks,
    }
  },
})
