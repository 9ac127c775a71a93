// A header that a pipeline may name for its proof. Headers that HTTP itself or the service reads for other ends are not
// for it: removing them as proof would hide them from their readers.
import { z } from "zod"

const reservedNames = new Set([
  "host",
  "content-type",
  "content-length",
  "content-encoding",
  "transfer-encoding",
  "connection",
  "user-agent",
  "x-signature-timestamp",
])

export const HeaderName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/, "a header name: letters, digits and -")
  .refine((name) => !reservedNames.has(name.toLowerCase()), "this header is reserved; choose another, such as X-Webhook-Secret")
