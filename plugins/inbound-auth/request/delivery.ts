// What a provider sends beside JSON and plain forms, as its row of the table says: JSON in a field of a form, XML, notices
// without a body, and events by GET. Verification and pipelines read the same fields.
import { z } from "zod"

const yes = z.literal(true).exactOptional()

export const DeliveryShape = z.strictObject({
  /** Form field whose JSON is the event. A form without it stays a form. */
  field: z.string().exactOptional(),
  /** Form fields that hold JSON, read in their places. */
  jsonFields: z.array(z.string()).exactOptional(),
  /** XML is read; the named elements are lists even if there is one. */
  xml: z.strictObject({ lists: z.array(z.string()).default([]) }).exactOptional(),
  /** A request without a body is an event. */
  mayBeEmpty: yes,
  /** Events may come by GET, with their fields in the query. */
  get: yes,
  /** The answer to an accepted event, if the pipeline gives none. */
  answer: z.strictObject({ status: z.int().default(200), type: z.string(), body: z.string() }).exactOptional(),
})
export type DeliveryShape = z.output<typeof DeliveryShape>
