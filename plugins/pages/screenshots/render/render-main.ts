// The render process: leads its own process group, performs one task, answers once and ends.
// After any failure here, the service only sees a missing answer.
import { rmSync } from "node:fs"
import { join } from "node:path"
import { capture, connect, PageFailure } from "./capture.ts"
import { LaunchFailure, launchChromium } from "./launch.ts"
import type { RenderAnswer, RenderTask } from "./order.ts"

// Without the service, the group and its folder must not remain.
process.on("disconnect", () => {
  try {
    rmSync(process.cwd(), { recursive: true, force: true })
  } catch {
    // The browser was still writing; the system's own cleanup removes the rest.
  }
  process.kill(-process.pid, "SIGKILL")
})

process.once("message", ({ id, ...task }: RenderTask & { id: number }) => {
  const answer = (message: RenderAnswer) => process.send?.({ id, ...message })
  render(task).then(answer, (error: unknown) => answer(answerOf(error)))
})

async function render(task: RenderTask): Promise<RenderAnswer> {
  const launched = await launchChromium(task)
  const ended = new Promise<never>((_resolve, reject) => {
    launched.process.once("exit", () => reject(new Error("The browser crashed.")))
  })
  const file = join(task.folder, "image.png")
  const captured = async () => {
    const browser = await connect(launched.socket)
    return await capture(browser, task, file)
  }
  const view = await Promise.race([captured(), ended])
  return { kind: "done", file, unsandboxed: !launched.sandboxed, seen: view }
}

function answerOf(error: unknown): RenderAnswer {
  const message = (error instanceof Error ? error.message : String(error)).slice(0, 1_000)
  if (error instanceof LaunchFailure) return { kind: "broken", message }
  // After a browser crash, the library's own message is not useful to the caller.
  if (/has been closed|target closed|crashed/i.test(message)) return { kind: "failed", message: "The browser crashed.", url: undefined }
  return { kind: "failed", message, url: error instanceof PageFailure ? error.url : undefined }
}
