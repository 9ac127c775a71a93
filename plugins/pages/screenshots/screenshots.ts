// Life cycle of a screenshot: accept, render, store, link and expire. Each step is a commit, so another node can resume the job
// of a dead node.
import {
  AppError,
  type Caller,
  type Changes,
  type Clock,
  changesOf,
  defineJob,
  type FieldsOf,
  type Ids,
  type JobQueue,
  Postponed,
  type Store,
  timestamp,
  token,
  type UnitOfWork,
} from "#core"
import type { Buckets } from "../../data/buckets/index.ts"
import type { Organizations } from "../../platform/organizations/index.ts"
import { expireRef, renderRef, ScreenshotCollection, type StoredScreenshot } from "./collection.ts"
import type { Instruction, Viewport } from "./instructions.ts"
import type { RenderOrder } from "./render/order.ts"
import { type Renderer, RenderFailure, type ScreenshotSettings } from "./render/renderer.ts"
import { checkTarget, pageAt, type TargetDeps, type TargetInput } from "./target.ts"
import { WaitingLine } from "./waiting-line.ts"

export interface ScreenshotInput extends TargetInput {
  readonly viewport: Viewport
  readonly full_page: boolean
  readonly instructions: Instruction[]
  /** True to store the visible text beside the image (`text` of the record). */
  readonly reads_text?: boolean
}

export interface Screenshots {
  /** Stages the record and its job. Returns the job's id. */
  start(work: UnitOfWork, caller: Pick<Caller, "organization">, input: ScreenshotInput): Promise<string>
  /** Throws `not_found`. */
  get(organization: string, id: string): Promise<StoredScreenshot>
  /** Returns a link that is valid until the image expires. */
  link(organization: string, screenshot: StoredScreenshot): Promise<string>
  render(work: UnitOfWork, organization: string, id: string, signal: AbortSignal): Promise<void>
  /** Handles a render after its last attempt. */
  giveUp(work: UnitOfWork, organization: string, id: string, error: unknown): Promise<void>
  expire(work: UnitOfWork, organization: string, id: string): Promise<void>
}

export const Screenshots = token<Screenshots>("Screenshots")

export interface ScreenshotsArgs extends TargetDeps {
  readonly store: Store
  readonly queue: JobQueue
  readonly buckets: Buckets
  readonly organizations: Organizations
  readonly renderer: Renderer
  readonly settings: ScreenshotSettings
  readonly clock: Clock
  readonly ids: Ids
}

const dayMs = 86_400_000
/** Time between the end of the image, or its failure, and the end of the record. */
const recordMs = 7 * dayMs
/** Life of a record whose job never ends. The queue should prevent this case. */
const lostMs = 30 * dayMs
/** Time besides the render itself: unpacking the browser, storing the image. */
const overheadMs = 120_000
/** Delay before another search for a render slot. */
const busyMs = 500

export function createScreenshots(args: ScreenshotsArgs): Screenshots {
  const { store, queue, buckets, clock, ids, settings } = args
  const line = new WaitingLine(store, clock, settings.max_waiting)

  async function processing(organization: string, id: string): Promise<StoredScreenshot | undefined> {
    const screenshot = await store.open(ScreenshotCollection, organization).get(id)
    return screenshot?.status === "processing" ? screenshot : undefined
  }

  function finish(work: UnitOfWork, organization: string, id: string, change: Partial<FieldsOf<StoredScreenshot>>): void {
    const now = clock.now()
    const $set: Changes = { ...changesOf(change), finished_at: timestamp(now) }
    $set["purge_at"] = timestamp(now + recordMs + settings.keep_hours * 3_600_000)
    work.in(ScreenshotCollection, organization).update(id, { $set }, { where: { status: "processing" }, optional: true })
  }

  async function orderOf(organization: string, { request }: StoredScreenshot): Promise<RenderOrder> {
    const { viewport, full_page, instructions, reads_text = false } = request
    const how = { viewport, full_page, instructions, reads_text }
    if (request.url !== null) return { url: request.url, ...how }
    const page = await args.pages.get(organization, request.page_id ?? "")
    const owner = await args.organizations.byId(organization)
    if (!page || !owner) throw new RenderFailure("The page no longer exists.")
    try {
      return { ...(await pageAt(args.serving, owner, page, request.variant ?? "")), ...how }
    } catch (error) {
      throw new RenderFailure((error as Error).message)
    }
  }

  return {
    async start(work, caller, { viewport, full_page, instructions, reads_text = false, ...target }) {
      const organization = caller.organization.id
      const how = { viewport, full_page, instructions, ...(reads_text ? { reads_text } : {}) }
      const request = { ...(await checkTarget(args, caller.organization, target)), ...how }
      const id = ids.uuid()
      await line.enter(work, organization, id)
      const now = clock.now()
      work.in(ScreenshotCollection, organization).insert({
        id,
        status: "processing",
        request,
        bucket_key: "",
        media_type: "",
        width: 0,
        height: 0,
        error: "",
        created_at: timestamp(now),
        finished_at: null,
        expires_at: null,
        purge_at: timestamp(now + lostMs),
      })
      queue.enqueue(work, renderRef, { id }, { organization, timeoutMs: settings.deadline_ms + overheadMs })
      return id
    },
    async get(organization, id) {
      const screenshot = await store.open(ScreenshotCollection, organization).get(id)
      if (!screenshot) throw new AppError("not_found", `The screenshot job "${id}" does not exist.`, { reason: "screenshot_not_found" })
      const over = screenshot.expires_at !== null && Date.parse(screenshot.expires_at) <= clock.now()
      return screenshot.status === "done" && over ? { ...screenshot, status: "expired" } : screenshot
    },
    link: (organization, { bucket_key, expires_at }) =>
      buckets.open(organization).signedUrl(bucket_key, Date.parse(expires_at ?? timestamp(clock.now()))),
    async render(work, organization, id, signal) {
      const screenshot = await processing(organization, id)
      if (!screenshot) return
      const slot = args.renderer.claim()
      if (!slot) throw new Postponed(busyMs)
      try {
        const image = await slot.render(await orderOf(organization, screenshot), signal)
        const bucket_key = `screenshots/${id}.png`
        await buckets.open(organization).put(bucket_key, image.bytes)
        const expires = clock.now() + settings.keep_hours * 3_600_000
        const { width, height, seen } = image
        finish(work, organization, id, {
          status: "done",
          bucket_key,
          media_type: "image/png",
          width,
          height,
          // An own page is supplied to the browser instead of fetched.
          http_status: screenshot.request.url === null ? 0 : seen.httpStatus,
          warnings: [...seen.warnings],
          ...(seen.text === undefined ? {} : { text: seen.text }),
          expires_at: timestamp(expires),
        })
        queue.enqueue(work, expireRef, { id }, { organization, runAt: expires })
      } catch (error) {
        if (!(error instanceof RenderFailure)) throw error
        finish(work, organization, id, { status: "failed", error: error.message })
      } finally {
        slot.release()
      }
    },
    async giveUp(work, organization, id, error) {
      const reason = error instanceof AppError ? error.message : "The screenshot failed because of an internal error."
      finish(work, organization, id, { status: "failed", error: reason })
    },
    async expire(work, organization, id) {
      const screenshot = await store.open(ScreenshotCollection, organization).get(id)
      if (screenshot?.status !== "done") return
      await buckets.open(organization).remove(screenshot.bucket_key)
      work.in(ScreenshotCollection, organization).update(id, { $set: { status: "expired" } }, { where: { status: "done" }, optional: true })
    },
  }
}

/**
 * Durable jobs for rendering and expiry. A page that cannot be captured ends its job successfully. Only faults of the service (an
 * unreachable bucket, for example) are retried.
 */
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
