// Starts Chromium in the caller's process group, so killing the group also ends Chromium. Returns the debugging socket.
// After a known failure, starts once more with a remedy.
import { type ChildProcess, spawn } from "node:child_process"
import { join } from "node:path"
import type { RenderTask } from "./order.ts"

export interface Launched {
  readonly socket: string
  readonly process: ChildProcess
  readonly sandboxed: boolean
}

interface Attempt {
  readonly sandbox: boolean
  readonly libraries: string | undefined
}

const keptOutput = 8_192

export class LaunchFailure extends Error {}

/** Throws LaunchFailure with Chromium's last output. */
export async function launchChromium(task: RenderTask): Promise<Launched> {
  let attempt: Attempt = { sandbox: task.sandbox !== "off", libraries: undefined }
  for (;;) {
    const outcome = await start(task, attempt)
    if (typeof outcome !== "string") return { ...outcome, sandboxed: attempt.sandbox }
    const next = remedy(task, attempt, outcome)
    if (!next) throw new LaunchFailure(`Chromium did not start: ${lastLines(outcome)}`)
    attempt = next
  }
}

function remedy(task: RenderTask, attempt: Attempt, output: string): Attempt | undefined {
  if (/error while loading shared libraries/.test(output) && !attempt.libraries && task.libraries) {
    return { ...attempt, libraries: task.libraries }
  }
  const refused = /no usable sandbox|without --no-sandbox|setuid sandbox|namespace|operation not permitted/i.test(output)
  if (refused && attempt.sandbox && task.sandbox === "auto") return { ...attempt, sandbox: false }
  return undefined
}

function start(task: RenderTask, { sandbox, libraries }: Attempt): Promise<Omit<Launched, "sandboxed"> | string> {
  const { width, height } = task.viewport
  const flags = chromiumFlags({ proxy: task.proxy, profile: join(task.folder, "profile"), sandbox, width, height })
  const env = libraries ? { ...process.env, LD_LIBRARY_PATH: libraries } : process.env
  const browser = spawn(task.executable, flags, { stdio: ["ignore", "ignore", "pipe"], env })
  return new Promise((resolve) => {
    let output = ""
    browser.stderr.setEncoding("utf8")
    browser.stderr.on("data", (text: string) => {
      output = (output + text).slice(-keptOutput)
      const socket = /DevTools listening on (ws:\/\/127\.0\.0\.1:\d+\/\S+)/.exec(output)?.[1]
      if (socket) resolve({ socket, process: browser })
    })
    browser.once("error", (error) => resolve(error.message))
    browser.once("close", (code, signal) => resolve(`${output}\n(ended by ${signal ?? `code ${code}`})`))
  })
}

function lastLines(output: string): string {
  return output.trim().split("\n").slice(-3).join(" ").slice(0, 600)
}

// Chromium's flags: all traffic uses the proxy, including loopback names. UDP, its own resolver and its vendor's services are
// disabled, and no data persists.

function chromiumFlags(args: { proxy: string; profile: string; sandbox: boolean; width: number; height: number }): string[] {
  return [
    "--headless",
    "--remote-debugging-address=127.0.0.1",
    "--remote-debugging-port=0",
    `--user-data-dir=${args.profile}`,
    `--proxy-server=${args.proxy}`,
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-quic",
    "--dns-prefetch-disable",
    "--no-pings",
    "--disable-background-networking",
    "--disable-client-side-phishing-detection",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--metrics-recording-only",
    "--no-first-run",
    "--no-default-browser-check",
    "--password-store=basic",
    "--use-mock-keychain",
    "--deny-permission-prompts",
    "--mute-audio",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--hide-scrollbars",
    "--font-render-hinting=none",
    "--force-color-profile=srgb",
    "--disable-background-timer-throttling",
    "--disable-renderer-backgrounding",
    "--disable-features=Translate,MediaRouter,OptimizationHints,DialMediaRouteProvider,PaintHolding",
    `--window-size=${args.width},${args.height}`,
    ...(args.sandbox ? [] : ["--no-sandbox", "--no-zygote"]),
    "about:blank",
  ]
}
