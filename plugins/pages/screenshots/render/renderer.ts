// Renders pages, at most so many at once, each in a group of processes with a clean environment, a deadline and a memory
// limit, and a proxy in front that decides what it may reach. A page can cost its own render and nothing else.
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Clock, Logger } from "#core"
import type { OutgoingSockets } from "../../../platform/outgoing-http/index.ts"
import { startFilteringProxy } from "../proxy/filtering-proxy.ts"
import { type OwnPages, targetOfUrl } from "../proxy/targets.ts"
import type { ScreenshotSettings } from "../settings.ts"
import { type Chromium, chromiumOf } from "./chromium.ts"
import type { RenderAnswer, RenderOrder, RenderTask, Seen } from "./order.ts"
import { sizeOfPng } from "./png.ts"
import { killGroup, memoryOf } from "./process-group.ts"

export interface Image {
  readonly bytes: Buffer
  readonly width: number
  readonly height: number
  readonly seen: Seen
}

/** The page could not be pictured, for a reason that another try would meet again; the message is for the caller. */
export class RenderFailure extends Error {}

export interface Renderer {
  /** A place to render in, to be given back; undefined when all are taken. */
  claim(): Slot | undefined
  /** Kills what renders. */
  stop(): void
}

export interface Slot {
  /** Throws RenderFailure, what `signal` was aborted with, or an Error where the fault is ours. */
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
const main = fileURLToPath(import.meta.resolve("./render-main.ts"))

export function createRenderer(args: RendererArgs): Renderer {
  const { settings, log } = args
  const chromium = chromiumOf({ executable: settings.executable, folder: args.browserFolder })
  const running = new Set<number>()
  let taken = 0
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
    const child = spawn(process.execPath, ["--max-old-space-size=256", main], {
      detached: true,
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      cwd: task.folder,
      env: environment(task.folder, browser),
    })
    const group = child.pid
    if (group === undefined) throw new Error("The render process could not be started.")
    running.add(group)
    const stopWatching = watchMemory(group, settings.memory_mb * 1_048_576, args.clock, () => {
      child.emit("overgrown")
    })
    try {
      child.send(task)
      return await outcome(child, task.deadlineMs, signal)
    } finally {
      stopWatching()
      killGroup(group)
      running.delete(group)
    }
  }

  function outcome(child: ChildProcess, deadlineMs: number, signal: AbortSignal): Promise<RenderAnswer> {
    return new Promise((resolve, reject) => {
      const cancel = args.clock.after(deadlineMs, () => reject(new RenderFailure(`The render timed out after ${deadlineMs} ms.`)))
      const given = () => reject(signal.reason as Error)
      if (signal.aborted) given()
      signal.addEventListener("abort", given, { once: true })
      child.once("message", (message) => resolve(message as RenderAnswer))
      child.once("overgrown", () => reject(new RenderFailure(`The render exceeded ${settings.memory_mb} MB of memory.`)))
      child.once("error", reject)
      child.once("exit", (code, by) => reject(new RenderFailure(`The render process died (${by ?? `code ${code}`}).`)))
      const tidy = () => {
        cancel()
        signal.removeEventListener("abort", given)
      }
      child.once("exit", tidy)
    })
  }

  return {
    claim() {
      if (taken >= settings.concurrency) return undefined
      taken++
      let held = true
      return {
        render,
        release() {
          if (held) taken--
          held = false
        },
      }
    },
    stop() {
      for (const group of running) killGroup(group)
    },
  }
}

/** Nothing of the service's own environment, which holds its secrets. */
function environment(folder: string, { fonts }: Chromium): Record<string, string> {
  const found = fonts === undefined ? {} : { FONTCONFIG_FILE: fonts }
  return { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: folder, TMPDIR: folder, LANG: "C.UTF-8", TZ: "UTC", ...found }
}

function watchMemory(group: number, limit: number, clock: Clock, exceeded: () => void): () => void {
  let watching = true
  let cancel = () => {}
  const look = async () => {
    const held = await memoryOf(group)
    if (held !== undefined && held > limit && watching) exceeded()
    else if (held !== undefined && watching) cancel = clock.after(memoryPollMs, again)
  }
  const again = () => void look().catch(() => undefined)
  again()
  return () => {
    watching = false
    cancel()
  }
}
