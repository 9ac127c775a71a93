// Each stage of a large event takes milliseconds. It starts in a turn of its own, so other work runs between stages.
import { setImmediate } from "node:timers/promises"
import { workGoesOn } from "../../kernel/request-scope.ts"

/** Bytes or characters. A shorter text is read in less time than a turn of the event loop costs. */
const largeLength = 65_536

export function isLarge(text: { readonly length: number }): boolean {
  return text.length >= largeLength
}

/** Resolves in the next turn of the event loop. */
export async function ownTurn(): Promise<void> {
  await setImmediate()
  workGoesOn()
}
