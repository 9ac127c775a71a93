// A child for tests: answers by the command of a request.
import { readFileSync } from "node:fs"

type Request = { readonly id: number; readonly command: string; readonly text?: string }

const chunks: Buffer[] = []
const answers: Readonly<Record<string, (request: Request) => unknown>> = {
  echo: ({ text }) => text,
  environment: () => Object.keys(process.env).sort(),
  limits: () => readFileSync("/proc/self/limits", "utf8"),
  read: ({ text = "" }) => {
    try {
      return readFileSync(text, "utf8").length
    } catch (error) {
      return (error as NodeJS.ErrnoException).code
    }
  },
}

process.on("message", (request: Request) => {
  const { id, command, text = "" } = request
  if (command === "grow") chunks.push(Buffer.alloc(256 << 20, 1))
  if (command === "hang" || command === "grow") return
  if (command === "fail") {
    process.stderr.write(text, () => process.exit(3))
    return
  }
  process.send?.({ id, value: answers[command]?.(request) })
})
process.on("disconnect", () => process.exit(0))
process.send?.("ready")
