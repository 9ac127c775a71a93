// What an operator can set about rendering.
import { z } from "zod"

export const ScreenshotSettings = z.strictObject({
  concurrency: z.int().min(1).max(32).default(2).describe("Browsers at once on this node."),
  max_waiting: z.int().min(1).max(10_000).default(50).describe("Unfinished screenshots of one organization; a further one is refused."),
  deadline_ms: z.int().min(1_000).max(300_000).default(45_000).describe("Time one render has; then its processes are killed."),
  memory_mb: z.int().min(128).max(16_384).default(1_024).describe("Memory of one render; beyond it its processes are killed (Linux)."),
  max_traffic_bytes: z.int().min(1_024).default(104_857_600).describe("What one page may load."),
  keep_hours: z.number().positive().max(168).default(24).describe("Life of an image and of its link."),
  executable: z.string().min(1).optional().describe("A Chromium to use; absent: the one that comes with the service."),
  browser_folder: z.string().min(1).optional().describe("Where that one is unpacked once; absent: <data_dir>/chromium."),
  sandbox: z
    .enum(["auto", "on", "off"])
    .default("auto")
    .describe("Chromium's own sandbox. `auto`: on where the system allows it; it never does for root."),
})

export type ScreenshotSettings = z.output<typeof ScreenshotSettings>
