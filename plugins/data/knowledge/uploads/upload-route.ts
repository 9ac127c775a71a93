// Route of upload links. The body is the document's bytes, with its own size limit.
import { AppError, defineRoute } from "#core"
import { Uploads, uploadPath } from "./uploads.ts"

/** Bound on concurrent uploads. Each holds a document in memory. */
const maxAtOnce = 16

export function receiveUpload(maxBodyBytes: number) {
  let inProgress = 0
  return defineRoute({
    name: "knowledge.receive_upload",
    summary: "Upload a document: the `upload_url` of POST /v1/knowledge-uploads.",
    method: "PUT",
    path: `${uploadPath}/{organization}/{upload}`,
    maxBodyBytes,
    inject: { uploads: Uploads },
    document: {
      description: "Takes a document once, as the request's body; its type is said when an item is made of it.",
      path: { organization: "As in upload_url.", upload: "As in upload_url." },
      query: { signature: "As in upload_url." },
      body: { description: "The document's bytes.", content: { "application/octet-stream": { schema: {} } } },
      answers: {
        "200": { description: "Taken; `bytes` is how many.", type: "application/json" },
        "400": { description: "Empty, or the link has taken a document already." },
        "403": { description: "Not such a link, or it has expired." },
        "413": { description: "Larger than `max_bytes`." },
        "503": { description: "Others are uploading; try again." },
      },
    },
    async handle({ request, deps }) {
      const { organization = "", upload = "" } = request.params
      await deps.uploads.requireOffer(organization, upload, request.query.get("signature") ?? "")
      if (inProgress >= maxAtOnce) {
        const message = `${maxAtOnce} documents are being uploaded to this node; try again.`
        throw new AppError("unavailable", message, { reason: "uploads_busy" }, { retryAfterS: 2 })
      }
      inProgress++
      try {
        const bytes = await request.body()
        if (bytes.length === 0) throw new AppError("invalid_argument", "The body is empty.", { reason: "upload_empty" })
        await deps.uploads.receive(organization, upload, bytes)
        return {
          headers: { "Content-Type": "application/json; charset=utf-8" },
          body: JSON.stringify({ upload_id: upload, bytes: bytes.length }),
        }
      } finally {
        inProgress--
      }
    },
  })
}
