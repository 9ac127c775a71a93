// What a body is refused with, by any reader of bodies, for what it holds too much of (json-shape.ts).
import { AppError } from "./errors.ts"
import type { Excess } from "./json-shape.ts"

export function tooComplex({ of, limit }: Excess): AppError {
  return new AppError("invalid_argument", `The body has more than ${limit} ${of}; send it in parts.`, { reason: "body_too_complex", limit })
}
