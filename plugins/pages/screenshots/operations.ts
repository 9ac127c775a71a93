// Operations that start a screenshot and return its status.
import { z } from "zod"
import { defineOperation, resultOf, SlugOrId, Uuid } from "#core"
import { Instruction, maxInstructions, Viewport } from "./instructions.ts"
import { Screenshots } from "./screenshots.ts"

const statuses = ["processing", "done", "failed", "expired"] as const

export const startScreenshot = defineOperation({
  name: "screenshots.start",
  summary: "Start a screenshot of a page; poll the result by its job id.",
  description:
    "The page is opened in a separate browser, the instructions run in order, and the viewport or the full page is captured. The page and its resources cannot reach private addresses. A form of a `page` is answered by the page at #thank-you and creates no lead; if no pipeline takes it, the screenshot fails.",
  http: { method: "POST", path: "/v1/screenshot/start" },
  access: { scope: "screenshots:write", role: "member" },
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: "by_job" },
  input: z
    .strictObject({
      url: z.string().min(1).max(8_192).optional().describe("Absolute http(s) URL."),
      page: SlugOrId.optional().describe("Slug or UUID of one of the organization's pages, published or not; instead of `url`."),
      variant: z.string().min(1).max(64).optional().describe("Variant of the page; the first one when absent."),
      viewport: Viewport.prefault({}),
      full_page: z.boolean().default(false).describe("Capture the full page instead of the viewport, up to 16,384 pixels."),
      instructions: z.array(Instruction).max(maxInstructions).default([]).describe("Run before the capture."),
    })
    .refine(({ url, page }) => (url === undefined) !== (page === undefined), { path: ["url"], message: "give one of url and page" })
    .refine(({ variant, page }) => variant === undefined || page !== undefined, { path: ["variant"], message: "goes with page only" }),
  output: z.object({ job_id: Uuid, status: z.enum(statuses) }),
  errors: ["invalid_argument", "not_found", "failed_precondition", "resource_exhausted"],
  examples: [{ given: { page: "pages.create" }, input: { page: resultOf("page.slug"), viewport: { width: 1_024, height: 768 } } }],
  inject: { screenshots: Screenshots },
  async handle({ input, caller, deps, work }) {
    return { job_id: await deps.screenshots.start(work, caller, input), status: "processing" as const }
  },
})

export const screenshotResult = defineOperation({
  name: "screenshots.result",
  summary: "Poll a screenshot: its status, and the link to its image.",
  http: { method: "POST", path: "/v1/screenshot/result" },
  access: { scope: "screenshots:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  mcp: { listed: true },
  input: z.strictObject({ job_id: z.string().min(1).max(100).toLowerCase().describe("Job id from screenshot/start.") }),
  output: z.object({
    job_id: Uuid,
    status: z.enum(statuses),
    bucket_key: z.string().describe("Bucket key of the image; empty until it is stored, and after it expired."),
    signed_url: z.string().describe("Signed URL of the image, valid until `expires_at`; empty likewise."),
    expires_at: z.string().describe("RFC 3339; empty until there is an image."),
    media_type: z.string(),
    width: z.int().describe("Pixels of the image; 0 until there is one."),
    height: z.int(),
    error: z.string().describe("Why it failed; empty otherwise."),
    http_status: z.int().describe("HTTP status of `url`, such as 404; 0 for a `page`, and until the screenshot is done."),
    warnings: z.array(z.string()).describe("What the image may lack: `missing_glyphs` lists scripts without a font on the machine."),
  }),
  errors: ["invalid_argument", "not_found"],
  examples: [{ given: { job: "screenshots.start" }, input: { job_id: resultOf("job.job_id") } }],
  inject: { screenshots: Screenshots },
  async handle({ input, caller, deps }) {
    const organization = caller.organization.id
    const screenshot = await deps.screenshots.get(organization, input.job_id)
    const { id, status, expires_at, media_type, width, height, error } = screenshot
    const here = status === "done"
    return {
      job_id: id,
      status,
      bucket_key: here ? screenshot.bucket_key : "",
      signed_url: here ? await deps.screenshots.link(organization, screenshot) : "",
      expires_at: expires_at ?? "",
      media_type,
      width,
      height,
      error,
      http_status: screenshot.http_status ?? 0,
      warnings: screenshot.warnings ?? [],
    }
  },
})
