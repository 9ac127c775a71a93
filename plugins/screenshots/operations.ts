// Starting a screenshot and asking how far it is.
import { z } from "zod"
import { resultOf, defineOperation, SlugOrId, Uuid } from "#core"
import { Instruction, maxInstructions, Viewport } from "./instructions.ts"
import { Screenshots } from "./screenshots.ts"

const statuses = ["processing", "done", "failed", "expired"] as const

export const startScreenshot = defineOperation({
  name: "screenshots.start",
  summary: "Start a picture of a page; ask for the result by its job id.",
  description:
    "The page is opened in a browser of its own, the instructions are carried out in order, and the viewport or the whole page is pictured. Private addresses are out of reach for the page and all it loads. A form of a `page` is answered by the page at #thank-you and makes no lead; where no pipeline takes it, the screenshot fails.",
  http: { method: "POST", path: "/v1/screenshot/start" },
  access: { scope: "screenshots:write", role: "member" },
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  input: z
    .strictObject({
      url: z.string().min(1).max(8_192).optional().describe("Absolute http(s) URL."),
      page: SlugOrId.optional().describe("Slug or UUID of one of the organization's pages, published or not; instead of `url`."),
      variant: z.string().min(1).max(64).optional().describe("Of the page; its first one when absent."),
      viewport: Viewport.prefault({}),
      full_page: z.boolean().default(false).describe("The whole page instead of the viewport, up to 16,384 pixels."),
      instructions: z.array(Instruction).max(maxInstructions).default([]).describe("Carried out before the picture is taken."),
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
  summary: "Ask how far a screenshot is, and for the link to its image.",
  http: { method: "POST", path: "/v1/screenshot/result" },
  access: { scope: "screenshots:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({ job_id: z.string().min(1).max(100).toLowerCase().describe("As screenshot/start answered it.") }),
  output: z.object({
    job_id: Uuid,
    status: z.enum(statuses),
    bucket_key: z.string().describe("Where the image is kept; empty until it is, and when it is gone."),
    signed_url: z.string().describe("Reads the image without a credential until `expires_at`; empty likewise."),
    expires_at: z.string().describe("RFC 3339; empty until there is an image."),
    media_type: z.string(),
    width: z.int().describe("Pixels of the image; 0 until there is one."),
    height: z.int(),
    error: z.string().describe("Why it failed; empty otherwise."),
    http_status: z.int().describe("Status that the page at `url` was answered with, such as 404; 0 for a `page`, and until it is done."),
    warnings: z.array(z.string()).describe("What the picture may lack: `missing_glyphs`, scripts that no font on the machine has."),
  }),
  errors: ["invalid_argument", "not_found"],
  examples: [{ given: { job: "screenshots.start" }, input: { job_id: resultOf("job.job_id") } }],
  inject: { screenshots: Screenshots },
  async handle({ input, caller, deps }) {
    const organization = caller.organization.id
    const found = await deps.screenshots.get(organization, input.job_id)
    const { id, status, expires_at, media_type, width, height, error } = found
    const here = status === "done"
    return {
      job_id: id,
      status,
      bucket_key: here ? found.bucket_key : "",
      signed_url: here ? await deps.screenshots.link(organization, found) : "",
      expires_at: expires_at ?? "",
      media_type,
      width,
      height,
      error,
      http_status: found.http_status ?? 0,
      warnings: found.warnings ?? [],
    }
  },
})
