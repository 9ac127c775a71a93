// Renders pages with bounded concurrency. Each render has its own process group with a clean environment, a deadline, a memory
// limit and a filtering proxy. A page can affect only its own render.
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { z } from "zod"
import type { Clock, Logger } from "#core"
import { ConfinedChild, PeerLost } from "#core/engine"
import type { OutgoingSockets } from "../../../platform/outgoing-http/index.ts"
import { startFilteringProxy } from "../proxy/filtering-proxy.ts"
import { type OwnPages, targetOfUrl } from "../proxy/targets.ts"
import { type Chromium, chromiumOf } from "./chromium.ts"
import type { RenderAnswer, RenderOrder, RenderTask, Seen } from "./order.ts"

/** Operator settings for rendering. */
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

export interface Image {
  readonly bytes: Buffer
  readonly width: number
  readonly height: number
  readonly seen: Seen
}

/** The page cannot be captured, and a retry would fail in the same way. The message is for the caller. */
export class RenderFailure extends Error {}

export interface Renderer {
  /** Returns a render slot for the caller to release; undefined if all slots are in use. */
  claim(): Slot | undefined
  /** Kills running renders. */
  stop(): void
}

export interface Slot {
  /** Throws RenderFailure, the abort reason of `signal`, or an Error after a fault of the service. */
  render(order: RenderOrder, signal: AbortSignal): Promise<Image>
  release(): void
}

export interface RendererArgs {
  readonly settings: ScreenshotSettings
  readonly sockets: OutgoingSockets
  readonly ownPages: () => OwnPages
  readonly browserFolder: string
  readonly clock: Clock
  readonly log: Logger
}

const memoryPollMs = 200
const main = new URL("./render-main.ts", import.meta.url)

export function createRenderer(args: RendererArgs): Renderer {
  const { settings, log } = args
  const chromium = chromiumOf({ executable: settings.executable, folder: args.browserFolder })
  const running = new Set<ConfinedChild>()
  let count = 0
  let warned = false
  const root = process.getuid?.() === 0
  if (root && settings.sandbox === "on")
    throw new Error("plugins.settings.screenshots.sandbox: Chromium has no sandbox for root; run the service as another user.")

  async function render(order: RenderOrder, signal: AbortSignal): Promise<Image> {
    const browser = await chromium()
    const folder = await mkdtemp(join(tmpdir(), "millrace-render-"))
    const overrun = new AbortController()
    const own = args.ownPages()
    const proxy = await startFilteringProxy({
      sockets: args.sockets,
      own,
      maxBytes: settings.max_traffic_bytes,
      exceeded: () => overrun.abort(new RenderFailure(`The page loads more than ${settings.max_traffic_bytes} bytes.`)),
    })
    try {
      const task: RenderTask = {
        ...order,
        own,
        proxy: proxy.url,
        executable: browser.executable,
        libraries: browser.libraries,
        sandbox: root ? "off" : settings.sandbox,
        folder,
        deadlineMs: settings.deadline_ms,
      }
      const answer = await inOwnGroup(task, browser, AbortSignal.any([signal, overrun.signal]))
      if (answer.kind === "broken") throw new Error(answer.message)
      if (answer.kind === "failed") {
        const target = answer.url === undefined ? undefined : targetOfUrl(answer.url)
        throw new RenderFailure((target && proxy.failureAt(target)?.message) || answer.message)
      }
      if (answer.unsandboxed && !warned) {
        warned = true
        log.warn("Chromium runs without its own sandbox: the service runs as root, or the system allows no user namespaces")
      }
      const bytes = await readFile(answer.file)
      return { bytes, ...sizeOfPng(bytes), seen: answer.seen }
    } finally {
      await proxy.close()
      await rm(folder, { recursive: true, force: true, maxRetries: 3 })
    }
  }

  async function inOwnGroup(task: RenderTask, browser: Chromium, signal: AbortSignal): Promise<RenderAnswer> {
    const child = new ConfinedChild({
      name: "render process",
      main,
      flags: ["--max-old-space-size=256"],
      ownGroup: true,
      cwd: task.folder,
      env: environment(task.folder, browser),
    })
    running.add(child)
    const limits = { deadlineMs: task.deadlineMs, memoryMb: settings.memory_mb, pollMs: memoryPollMs, clock: args.clock }
    const abort = () => child.kill()
    if (signal.aborted) abort()
    signal.addEventListener("abort", abort, { once: true })
    try {
      return await child.within(limits, () => child.ask<RenderAnswer>(task))
    } catch (error) {
      signal.throwIfAborted()
      throw error instanceof PeerLost ? lossOf(error, task.deadlineMs) : error
    } finally {
      signal.removeEventListener("abort", abort)
      child.kill()
      running.delete(child)
    }
  }

  function lossOf({ exit }: PeerLost, deadlineMs: number): Error {
    if (exit.cause) return exit.cause
    if (exit.killed === "deadline") return new RenderFailure(`The render timed out after ${deadlineMs} ms.`)
    if (exit.killed === "memory") return new RenderFailure(`The render exceeded ${settings.memory_mb} MB of memory.`)
    return new RenderFailure(`The render process died (${exit.signal ?? `code ${exit.code}`}).`)
  }

  return {
    claim() {
      if (count >= settings.concurrency) return undefined
      count++
      let isHeld = true
      return {
        render,
        release() {
          if (isHeld) count--
          isHeld = false
        },
      }
    },
    stop() {
      for (const child of running) child.kill()
    },
  }
}

/** Excludes the service's own environment, since it holds secrets. */
function environment(folder: string, { fonts }: Chromium): Record<string, string> {
  const fontEnvironment = fonts === undefined ? {} : { FONTCONFIG_FILE: fonts }
  return { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: folder, TMPDIR: folder, LANG: "C.UTF-8", ...fontEnvironment }
}

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/** Throws if the bytes are not a PNG. */
function sizeOfPng(bytes: Buffer): { width: number; height: number } {
  if (bytes.length < 33 || !bytes.subarray(0, 8).equals(signature) || bytes.toString("latin1", 12, 16) !== "IHDR") {
    throw new Error("The browser's image is not a PNG.")
  }
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
}
