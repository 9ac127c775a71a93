// The closed set of errors: codes and statuses of the specification's transport, without leaks.
import { expect } from "chai"
import { AppError, asAppError, type ErrorCode, httpStatusOf } from "../../core/kernel/errors.ts"

/** Connect's table of codes and HTTP statuses. */
const connect: Record<ErrorCode, number> = {
  canceled: 499,
  unknown: 500,
  invalid_argument: 400,
  deadline_exceeded: 504,
  not_found: 404,
  already_exists: 409,
  permission_denied: 403,
  resource_exhausted: 429,
  failed_precondition: 400,
  aborted: 409,
  out_of_range: 400,
  unimplemented: 501,
  internal: 500,
  unavailable: 503,
  data_loss: 500,
  unauthenticated: 401,
}

describe("errors", () => {
  it("are Connect's sixteen codes with its statuses, and no other", () => {
    expect(httpStatusOf).to.deep.equal(connect)
    expect(Object.keys(httpStatusOf)).to.have.length(16)
  })

  it("answer with code, message and details, details always an object", () => {
    const error = new AppError("not_found", "Nothing is at /v2.", { reason: "unknown_path" })
    expect(error.toBody()).to.deep.equal({
      code: "not_found",
      message: "Nothing is at /v2.",
      details: { reason: "unknown_path" },
    })
    expect(error.status).to.equal(404)
    const fields = [{ path: "name", message: "is empty" }]
    expect(new AppError("invalid_argument", "x", { reason: "invalid_fields", fields }).toBody().details).to.deep.equal({
      reason: "invalid_fields",
      fields,
    })
  })

  it("take one of HTTP's own statuses in place of the code's", () => {
    expect(new AppError("resource_exhausted", "too large", { reason: "body_too_large", max_bytes: 1 }, { status: 413 }).status).to.equal(
      413,
    )
    expect(
      new AppError("unimplemented", "no such method", { reason: "method_not_allowed" }, { status: 405 }).toBody(),
    ).to.not.have.property("status")
  })

  it("keep the cause for the log and out of the answer", () => {
    const cause = new Error("password=hunter2 at /srv/secret.ts")
    const error = asAppError(cause)
    expect(error).to.deep.include({ code: "internal", status: 500, cause })
    expect(JSON.stringify(error.toBody())).to.not.match(/hunter2|secret/)
    for (const thrown of [undefined, null, "text", 7, { code: "not_found" }]) expect(asAppError(thrown).code).to.equal("internal")
  })

  it("take declared reasons alone, with the code and the details that each declares", () => {
    const errors = [
      new AppError("resource_exhausted", "x", { reason: "body_too_large", max_bytes: 1 }),
      // @ts-expect-error: nobody declares this reason
      new AppError("not_found", "x", { reason: "moon_not_found" }),
      // @ts-expect-error: the reason has another code
      new AppError("invalid_argument", "x", { reason: "body_too_large", max_bytes: 1 }),
      // @ts-expect-error: a detail is of another type
      new AppError("resource_exhausted", "x", { reason: "body_too_large", max_bytes: "1" }),
      // @ts-expect-error: a detail is missing
      new AppError("resource_exhausted", "x", { reason: "body_too_large" }),
      // @ts-expect-error: the reason declares no such detail
      new AppError("resource_exhausted", "x", { reason: "body_too_large", max_bytes: 1, min_bytes: 0 }),
      // @ts-expect-error: an error has a reason
      new AppError("not_found", "x", {}),
    ]
    expect(errors.map(({ message }) => message)).to.deep.equal(errors.map(() => "x"))
  })

  it("pass through as they are", () => {
    const error = new AppError("unavailable", "x", { reason: "unavailable" }, { retryAfterS: 3 })
    expect(asAppError(error)).to.equal(error)
    expect(error.retryAfterS).to.equal(3)
  })
})
