// Rendering and expiring, as durable jobs. A page that cannot be pictured ends its job well: only what is our own
// trouble (the bucket is down, say) is retried.
import { defineJob } from "#core"
import { expireRef, renderRef } from "./collection.ts"
import { Screenshots } from "./screenshots.ts"

export const renderScreenshot = defineJob(renderRef, {
  summary: "Render a page and keep its image.",
  inject: { screenshots: Screenshots },
  run: ({ payload, deps, organization = "", work, signal }) => deps.screenshots.render(work, organization, payload.id, signal),
  exhausted: ({ payload, deps, organization = "", work }, error) => deps.screenshots.giveUp(work, organization, payload.id, error),
})

export const expireScreenshot = defineJob(expireRef, {
  summary: "Remove the image of an expired screenshot.",
  inject: { screenshots: Screenshots },
  run: ({ payload, deps, organization = "", work }) => deps.screenshots.expire(work, organization, payload.id),
})
