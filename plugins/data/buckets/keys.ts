// Names of objects. The key's ending determines the media type, from a closed set without types a browser would run. The
// characters of a key are safe for every file system and every S3.
import { AppError, isUuid } from "#core"

const mediaTypes = {
  png: "image/png",
  jpg: "image/jpeg",
  webp: "image/webp",
  gif: "image/gif",
  mp3: "audio/mpeg",
  ogg: "audio/ogg",
  m4a: "audio/mp4",
  aac: "audio/aac",
  amr: "audio/amr",
  mp4: "video/mp4",
  "3gp": "video/3gpp",
  docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  pptx: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  pdf: "application/pdf",
  json: "application/json",
  csv: "text/csv; charset=utf-8",
  txt: "text/plain; charset=utf-8",
  parquet: "application/vnd.apache.parquet",
  // Browsers would read message/rfc822 as an archive of pages.
  eml: "application/octet-stream",
  // Untrusted files. Browsers must download them.
  bin: "application/octet-stream",
} as const

const endings = Object.keys(mediaTypes).join("|")
const keyPattern = new RegExp(`^(?:[a-z0-9_=-]{1,100}/){0,8}[a-z0-9_-]{1,100}\\.(${endings})$`)

/** Returns the media type of a key, or undefined for an invalid key. */
export function mediaTypeOf(key: string): string | undefined {
  const ending = keyPattern.exec(key)?.[1]
  return ending === undefined ? undefined : mediaTypes[ending as keyof typeof mediaTypes]
}

/** Returns true if browsers save the object instead of showing it. */
export function isDownload(key: string): boolean {
  return mediaTypeOf(key) === "application/octet-stream"
}

/** Returns the key. Throws `invalid_argument` with the path `field` for an invalid key, and an Error for an invalid organization ID. */
export function checkedKey(organization: string, key: string, field = "bucket_key"): string {
  if (!isUuid(organization)) throw new Error(`"${organization}" is not an organization's id.`)
  if (mediaTypeOf(key) !== undefined) return key
  const message = `"${key.slice(0, 100)}" is not a bucket key; one reads like screenshots/home.png: lower-case letters, digits, - and _, at most 8 folders, ending in .${Object.keys(mediaTypes).join(", .")}.`
  throw new AppError("invalid_argument", message, { reason: "invalid_bucket_key", fields: [{ path: field, message }] })
}
