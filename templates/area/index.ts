// The area sample_name: items of an organization. People create, list, read, change and delete them.
import { z } from "zod"
import { byId, definePlugin, defineReasons, defineResource, Name } from "#core"

export const SampleName = defineResource()({
  name: "sample_name",
  plural: "sample_name",
  word: "sample name item",
  title: "SampleName",
  path: "/v1/sample-name",
  collection: { name: "sample_name" },
  access: { read: { scope: "sample_name:read", role: "guest" }, write: { scope: "sample_name:write", role: "member" } },
  key: byId,
  fields: { name: Name },
  defaults: {},
  columns: ["name", "updated_at"],
  examples: [{ input: { name: "First" } }],
  change: { name: "Second" },
})

export default definePlugin({
  id: "sample-name",
  reasons: defineReasons(SampleName.reasons),
  config: z.strictObject({}),
  register: (registrar) => registrar.resources(SampleName),
})
