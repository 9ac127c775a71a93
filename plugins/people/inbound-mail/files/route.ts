// What a link to a file of a received message answers: a download, never something that a browser shows.
import { AppError, Clock, defineRoute, Vault } from "#core"
import { MailFilesToken } from "./files.ts"
import { checkLink, filePath, macPurpose } from "./link.ts"

export const readFile = defineRoute({
  name: "email_conversations.read_file",
  summary: "Download a file of a received message by a signed link.",
  method: "GET",
  path: filePath,
  inject: { files: MailFilesToken, vault: Vault, clock: Clock },
  async handle({ request, deps }) {
    const { organization = "", mail = "", part = "" } = request.params
    const file = { organization, mail, part }
    const verdict = checkLink(deps.vault.keyFor(macPurpose), file, request.query, deps.clock.now())
    if (verdict === "forged")
      throw new AppError("permission_denied", "The link's signature does not match.", { reason: "invalid_signature" })
    if (verdict === "expired")
      throw new AppError("permission_denied", "The link has expired; ask for a new one.", { reason: "link_expired" })
    const { fileName, contentType, body } = await deps.files.read(file)
    return {
      headers: {
        "Content-Type": contentType,
        "Content-Length": String(body.length),
        "Content-Disposition": attachmentNamed(fileName),
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Cache-Control": "private, no-store",
        "Referrer-Policy": "no-referrer",
      },
      body,
    }
  },
})

/** RFC 6266: plain ASCII for old clients, the true name beside it. */
function attachmentNamed(fileName: string): string {
  const encoded = encodeURIComponent(fileName).replace(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
  return `attachment; filename="${fileName.replace(/[^\x20-\x7e]|["\\%]/g, "_")}"; filename*=UTF-8''${encoded}`
}
