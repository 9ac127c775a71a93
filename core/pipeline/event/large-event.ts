// A large event has stages that take milliseconds each. Every such stage starts in a turn of its own, so that other work
// runs in between.
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
