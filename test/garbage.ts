// Detects whether an object is released. A referenced object survives each collection.
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { until } from "./waiting.ts"

setFlagsFromString("--expose-gc")
/** Collects all garbage of this process. */
export const collectGarbage = runInNewContext("gc") as () => void

/** Resolves once the object is collected. */
export async function collected(what: string, object: WeakRef<object>): Promise<void> {
  await until(`the end of ${what}`, () => {
    collectGarbage()
    return object.deref() === undefined
  })
}
