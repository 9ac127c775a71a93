// Creates an upload link for documents above the size limit of a call's body.
import { z } from "zod"
import { defineOperation, Timestamp, Uuid } from "#core"
import { KnowledgeSettingsToken } from "../settings.ts"
import { Uploads, uploadPath } from "../uploads/uploads.ts"

export const uploadDocument = defineOperation({
  name: "knowledge.upload",
  summary: "Get a link to upload a document to, for an item or a new version of one.",
  description:
    "Send the document's bytes to `upload_url` by PUT, with no credential, within an hour; then name `upload_id` in the item. The link takes one document.",
  http: { method: "POST", path: uploadPath },
  access: { scope: "knowledge:write", role: "member" },
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: z.strictObject({}),
  output: z.object({
    upload_id: Uuid,
    upload_url: z.string().describe("Shown once."),
    max_bytes: z.int().describe("Of the document."),
    expires_at: Timestamp,
  }),
  errors: [],
  secretOutput: ["upload_url"],
  inject: { uploads: Uploads, settings: KnowledgeSettingsToken },
  async handle({ caller, deps, work }) {
    const { id, url, expires_at } = await deps.uploads.offer(work, caller)
    return { upload_id: id, upload_url: url, max_bytes: deps.settings.max_uploaded_bytes, expires_at }
  },
})
