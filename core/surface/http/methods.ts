// A method that a path does not answer: 405, with those it does.
import { AppError } from "../../kernel/errors.ts"

/** `details.allow` becomes the Allow header. */
export function methodNotAllowed(method: string, path: string, allow: readonly string[]): AppError {
  const message = `${path} does not answer ${method}; it answers ${allow.join(", ")}.`
  return new AppError("unimplemented", message, { reason: "method_not_allowed", allow: [...allow] }, { status: 405 })
}
