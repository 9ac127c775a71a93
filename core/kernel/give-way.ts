// Long work in one thread gives way to other work between its pieces.
import { setImmediate as nextTurn } from "node:timers/promises"
import { workGoesOn } from "./request-scope.ts"

/** A stretch of work between two turns of the event loop. */
const stretchMs = 5

let stretchBegan = 0

/** Resolves at once while a stretch is short. Otherwise other work runs first. */
export async function giveWay(): Promise<void> {
  if (performance.now() - stretchBegan < stretchMs) return
  await nextTurn()
  workGoesOn()
  stretchBegan = performance.now()
}
