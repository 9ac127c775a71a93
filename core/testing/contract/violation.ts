// How a promise that is not kept is told.
import { AssertionError } from "node:assert"

export function violation(message: string): never {
  throw new AssertionError({ message, stackStartFn: violation })
}
