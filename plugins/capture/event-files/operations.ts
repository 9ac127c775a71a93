// The files of an event, each with a temporary download link.
import { z } from "zod"
import { Clock, defineOperation, Store, Timestamp, timestamp, Uuid } from "#core"
import { Buckets } from "../../data/buckets/index.ts"
import { EventFilesCollection } from "./collections.ts"

const linkMs = 900_000

const File = z.object({
  key: z.string().describe("Key in the bucket, as the event holds it."),
  field: z.string().describe("Field of the form."),
  name: z.string().describe("As the sender named the file."),
  type: z.string().describe("Media type, as the sender says; the link answers application/octet-stream."),
  size: z.int().describe("Bytes."),
  url: z.string().describe("Downloads the file without a credential until `expires_at`."),
  expires_at: Timestamp,
})

export const listEventFiles = defineOperation({
  name: "event_files.list",
  summary: "List the files that a form sent with an event, with links that download them.",
  description:
    "The links are valid for 15 minutes. Strangers sent the files, so a browser downloads them and shows none. Files are removed when the payload of their event expires; the list is then empty.",
  http: { method: "GET", path: "/v1/event-files/{execution_id}" },
  access: { scope: "event_pipelines:read", role: "member" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  columns: ["field", "name", "type", "size", "url"],
  input: z.strictObject({ execution_id: Uuid.describe("The execution.") }),
  output: z.object({ files: z.array(File) }),
  errors: [],
  examples: [{ input: { execution_id: "0190a000-0000-7000-8000-000000000001" } }],
  inject: { store: Store, buckets: Buckets, clock: Clock },
  async handle({ input, caller, deps: { store, buckets, clock } }) {
    const organization = caller.organization.id
    const stored = await store.open(EventFilesCollection, organization).get(input.execution_id)
    const bucket = buckets.open(organization)
    const expiresAt = Math.ceil(clock.now() / 1_000) * 1_000 + linkMs
    const expires_at = timestamp(expiresAt)
    const files = (stored?.state === "reserved" ? [] : (stored?.files ?? [])).map(async (file) => ({
      ...file,
      url: await bucket.signedUrl(file.key, expiresAt),
      expires_at,
    }))
    return { files: await Promise.all(files) }
  },
})
