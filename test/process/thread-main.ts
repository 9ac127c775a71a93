// A thread for tests: answers by the command of a request.
import { parentPort } from "node:worker_threads"

parentPort?.on("message", ({ id, command }: { id: number; command: string }) => {
  for (let spins = 0; command === "spin"; spins++) if (spins < 0) return
  if (command === "fail") throw new Error("a fault")
  if (command === "grow") for (const all: object[] = []; ; ) all.push(new Array(1_000_000).fill({}))
  if (command !== "hang") parentPort?.postMessage({ id, environment: Object.keys(process.env) })
})
