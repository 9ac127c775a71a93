// Stored screenshots: the request, its progress, and the image with its expiry.
import { z } from "zod"
import { type Document, defineCollection, jobRef, Uuid } from "#core"
import type { Instruction, Viewport } from "./instructions.ts"

export interface StoredScreenshot extends Document {
  status: "processing" | "done" | "failed" | "expired"
  /** Exactly one of `url` and `page_id` is set. */
  request: {
    url: string | null
    page_id: string | null
    variant: string | null
    viewport: Viewport
    full_page: boolean
    instructions: Instruction[]
    reads_text?: boolean
  }
  bucket_key: string
  media_type: string
  width: number
  height: number
  error: string
  /** Absent in records of earlier versions. */
  http_status?: number
  warnings?: string[]
  /** Visible text, if requested and the page was rendered. */
  text?: string
  created_at: string
  finished_at: string | null
  /** Expiry of the image and its link. */
  expires_at: string | null
  /** Deletion time of the record itself. */
  purge_at: string
}

export const ScreenshotCollection = defineCollection<StoredScreenshot>()({
  name: "screenshots",
  scope: "organization",
  times: ["created_at", "finished_at", "expires_at", "purge_at"],
  indexes: [{ fields: ["status"] }],
  expires: "purge_at",
})

const payload = z.strictObject({ id: Uuid })

/** Retries only after a fault of the service, since the caller is waiting. */
const retry = { max_attempts: 3, initial_delay_ms: 1_000, factor: 4, max_delay_ms: 60_000 }

export const renderRef = jobRef("screenshots.render", payload, { retry })
export const expireRef = jobRef("screenshots.expire", payload)
