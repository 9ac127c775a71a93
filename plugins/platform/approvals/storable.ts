// Text that not every store can hold is refused on all of them: half of a surrogate pair.
import { AppError, type Json } from "#core"

/** Throws `invalid_argument` that names the first place. */
export function refuseHalves(input: Json, path = ""): void {
  const place = halfAt(input, path)
  if (place === undefined) return
  const message = "holds half of a surrogate pair (a lone surrogate), which cannot be stored"
  throw new AppError("invalid_argument", `${place} ${message}.`, { reason: "invalid_fields", fields: [{ path: place, message }] })
}

function halfAt(value: Json, path: string): string | undefined {
  if (typeof value === "string") return value.isWellFormed() ? undefined : path
  if (typeof value !== "object" || value === null) return undefined
  for (const [name, inside] of Object.entries(value)) {
    const at = path === "" ? name : `${path}.${name}`
    const half = name.isWellFormed() ? halfAt(inside, at) : at.toWellFormed()
    if (half !== undefined) return half
  }
  return undefined
}
