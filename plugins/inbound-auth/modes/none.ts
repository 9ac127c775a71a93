// `none`: no check at all. The endpoint's unguessable address is all that stands before it.
import { z } from "zod"
import { defineAuthMode } from "#core"

export const noAuth = defineAuthMode({
  mode: "none",
  summary: "No check at all.",
  description: "Anyone who knows the endpoint's address may send events. Also the mode of `internal` pipelines, which have no endpoint.",
  config: z.strictObject({}),
  examples: [{ title: "An endpoint for anyone who knows its address", yaml: "auth_mode: none" }],
  secret: () => "none",
  prepare: () => ({ verify: () => ({ ok: true }), coversBody: false, retries: true }),
  sign: () => ({}),
})
