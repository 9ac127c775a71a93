// What an operator can set about rendering.
import { z } from "zod"

export const ScreenshotSettings = z.strictObject({
  concurrency: z
    .int()
    .min(1)
    .max(32)
    .default(3)
    .describe(
      "Maximum concurrent browsers on this node; a quarter, and at least one of several, is reserved for organizations without one.",
    ),
  max_waiting: z.int().min(1).max(10_000).default(50).describe("Maximum unfinished screenshots of one organization."),
  deadline_ms: z.int().min(1_000).max(300_000).default(45_000).describe("Timeout of a render; its processes are then killed."),
  memory_mb: z.int().min(128).max(16_384).default(1_024).describe("Memory limit of a render; beyond it its processes are killed (Linux)."),
  max_traffic_bytes: z.int().min(1_024).default(104_857_600).describe("Maximum traffic of one page."),
  keep_hours: z.number().min(0.01).max(168).default(24).describe("Lifetime of an image and of its link."),
  executable: z.string().min(1).optional().describe("Path of Chromium; absent: the one that ships with the service."),
  browser_folder: z.string().min(1).optional().describe("Folder where the shipped Chromium is unpacked; absent: <data_dir>/chromium."),
  sandbox: z
    .enum(["auto", "on", "off"])
    .default("auto")
    .describe("Chromium's own sandbox. `auto`: on if the system allows it, which it never does for root."),
})

export type ScreenshotSettings = z.output<typeof ScreenshotSettings>
