// Extracts the text of a PDF page by page (pdf.js). Runs in the reading process, which cannot open files. The character tables
// for Chinese, Japanese and Korean documents are therefore read before.
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import type { ReadResult, ReadTask } from "./protocol.ts"
import { tidied, tooLong } from "./read-html.ts"

type PdfJs = typeof import("pdfjs-dist/legacy/build/pdf.mjs")

const tables = new Map<string, Uint8Array>()

/** Loads everything that pdf.js would look for later. */
export async function loadPdf(): Promise<PdfJs> {
  const folder = join(dirname(fileURLToPath(import.meta.resolve("pdfjs-dist/package.json"))), "cmaps")
  for (const name of readdirSync(folder)) if (name.endsWith(".bcmap")) tables.set(name, readFileSync(join(folder, name)))
  const pdf = await import("pdfjs-dist/legacy/build/pdf.mjs")
  // Parses in this thread, because the process has no other work.
  const worker: unknown = await import("pdfjs-dist/legacy/build/pdf.worker.mjs" as string)
  Object.assign(globalThis, { pdfjsWorker: worker })
  return pdf
}

/** Replaces pdf.js's access to files and requests. */
class Tables {
  fetch({ filename }: { readonly filename: string }): Promise<Uint8Array> {
    const table = tables.get(filename)
    return table ? Promise.resolve(table) : Promise.reject(new Error(`${filename} is not available.`))
  }
}

export async function readPdf(pdf: PdfJs, bytes: Uint8Array, { maxCharacters, maxPages }: ReadTask): Promise<ReadResult> {
  const options = { isEvalSupported: false, useSystemFonts: false, disableFontFace: true, useWorkerFetch: false, useWasm: false }
  const opening = pdf.getDocument({
    ...options,
    data: bytes,
    verbosity: 0,
    cMapUrl: "cmaps/",
    cMapPacked: true,
    BinaryDataFactory: Tables,
    stopAtErrors: false,
  })
  try {
    const document = await opening.promise
    if (document.numPages > maxPages)
      return { kind: "fault", fault: "too_many_pages", message: `The PDF has ${document.numPages} pages; at most ${maxPages} are read.` }
    const pages: string[] = []
    let length = 0
    for (let number = 1; number <= document.numPages; number++) {
      const page = await document.getPage(number)
      let text = ""
      // A stream avoids holding an endless page in memory.
      const reader = page.streamTextContent().getReader() as ReadableStreamDefaultReader<{
        items: { str?: string; hasEOL?: boolean }[]
      }>
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        for (const { str = "", hasEOL = false } of part.value.items) text += hasEOL ? `${str}\n` : str
        if (length + text.length > maxCharacters) return tooLong(maxCharacters)
      }
      page.cleanup()
      pages.push(text)
      length += text.length
    }
    const text = tidied(pages.join("\n\n"))
    if (text === "") return { kind: "fault", fault: "no_text", message: "The PDF has no text; it may hold pictures of pages." }
    const { info } = await document.getMetadata()
    const title = (info as { Title?: unknown }).Title
    return { kind: "text", title: typeof title === "string" ? title.trim().slice(0, 300).toWellFormed() : "", text }
  } catch (error) {
    const { name, message } = error as Error
    if (name === "PasswordException") return { kind: "fault", fault: "encrypted", message: "The PDF needs a password." }
    return { kind: "fault", fault: "malformed", message: `The PDF cannot be read: ${message.slice(0, 300).toWellFormed()}` }
  }
}
