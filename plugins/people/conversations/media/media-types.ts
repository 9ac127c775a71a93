// The files that are taken, by what the provider says they are: nothing that a browser would run.
const endings: ReadonlyMap<string, string> = new Map([
  ["image/jpeg", "jpg"],
  ["image/png", "png"],
  ["image/webp", "webp"],
  ["image/gif", "gif"],
  ["audio/mpeg", "mp3"],
  ["audio/ogg", "ogg"],
  ["audio/mp4", "m4a"],
  ["audio/aac", "aac"],
  ["audio/amr", "amr"],
  ["video/mp4", "mp4"],
  ["video/3gpp", "3gp"],
  ["application/pdf", "pdf"],
  ["text/plain", "txt"],
  ["text/csv", "csv"],
  ["application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"],
  ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"],
  ["application/vnd.openxmlformats-officedocument.presentationml.presentation", "pptx"],
])

/** The ending of a bucket key; undefined for a type that is not taken. Parameters, such as `codecs=opus`, do not count. */
export function endingOf(mediaType: string): string | undefined {
  return endings.get(mediaType.split(";")[0]?.trim().toLowerCase() ?? "")
}
