// What a body is refused with, by any reader of bodies, for what it holds too much of (json-shape.ts).
import { AppError } from "./errors.ts"
import { type Excess, maxLevels } from "./json-shape.ts"

export function tooComplex({ of, limit, isDeep = false }: Excess): AppError {
  if (isDeep) return tooDeep()
  return new AppError("invalid_argument", `The body has more than ${limit} ${of}; send it in parts.`, { reason: "body_too_complex", limit })
}

export function tooDeep(): AppError {
  return new AppError("invalid_argument", `The input is nested more than ${maxLevels} levels deep.`, {
    reason: "body_too_deep",
    limit: maxLevels,
  })
}
