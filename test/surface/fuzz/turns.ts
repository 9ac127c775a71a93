// A service that writes its longest turns to `turns.json` in its folder. SIGUSR2 starts a new list. Loaded with --import, by tests only.
import { writeFileSync } from "node:fs"
import { isMainThread } from "node:worker_threads"
import { TurnMeter } from "../../turn-meter.ts"

const writeMs = 1_000
const storedCount = 20

if (isMainThread) {
  let turns: number[] = []
  process.on("SIGUSR2", () => {
    turns = []
  })
  new TurnMeter((milliseconds) => {
    if (milliseconds > 1) turns.push(milliseconds)
  })
  setInterval(() => {
    turns.sort((a, b) => b - a).splice(storedCount)
    writeFileSync("turns.json", JSON.stringify(turns))
  }, writeMs).unref()
}
