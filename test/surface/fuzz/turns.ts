// A service that writes its longest turns to `turns.json` in its folder. SIGUSR2 starts a new list. Loaded with --import, by tests only.
import { writeFileSync } from "node:fs"
import { isMainThread } from "node:worker_threads"

const everyMs = 10
const { threadCpuUsage } = process

if (isMainThread) {
  const turns: number[] = []
  let used = threadCpuUsage()
  let looks = 0
  process.on("SIGUSR2", () => turns.splice(0))
  setInterval(() => {
    const { user, system } = threadCpuUsage(used)
    used = threadCpuUsage()
    turns.push((user + system) / 1_000)
    if (++looks % 100 !== 0) return
    turns.sort((a, b) => b - a).splice(20)
    writeFileSync("turns.json", JSON.stringify(turns))
  }, everyMs).unref()
}
