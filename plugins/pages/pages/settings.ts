// Operator settings for serving pages.
import { z } from "zod"

export const PageSettings = z.strictObject({
  origin: z
    .url({ protocol: /^https?$/, error: "no http(s) URL" })
    .transform((url) => new URL(url).origin)
    .optional()
    .describe("Separate origin of pages; absent: the public URL's origin."),
  visitor_cookie: z
    .boolean()
    .default(false)
    .describe("Recognize visitors by a cookie, beyond a day; without it, nothing is stored in the browser."),
  visitor_cookie_days: z.int().min(1).max(400).default(180).describe("Lifetime of the cookie, from the last visit."),
  honour_gpc: z.boolean().default(true).describe("No analytics for browsers that send Global Privacy Control."),
  frame_ancestors: z
    .array(z.string().regex(/^[^\s;,]+$/))
    .default([])
    .describe("Origins that may embed pages in a frame; none by default."),
})
export type PageSettings = z.output<typeof PageSettings>
