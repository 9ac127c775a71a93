// Refusals as SMTP clients get them: a status (RFC 5321), an enhanced one (RFC 3463), and what to do.

export class SmtpRefusal extends Error {
  readonly responseCode: number
  /** Such as 5.7.1. */
  readonly enhanced: string

  constructor(code: number, enhanced: string, message: string) {
    super(`${enhanced} ${message}`)
    this.responseCode = code
    this.enhanced = enhanced
  }
}

/** What of an error a client is told: a refusal as it is, of anything else that it should try again later. */
export function refusalFor(error: unknown): SmtpRefusal {
  return error instanceof SmtpRefusal ? error : new SmtpRefusal(451, "4.3.0", "The service cannot take mail now; try again later")
}
