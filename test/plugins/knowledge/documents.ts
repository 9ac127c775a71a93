// Handwritten PDFs: one with text, and hostile ones against their reader.
import { createCipheriv, createHash } from "node:crypto"
import { deflateSync } from "node:zlib"

function pdfOf(objects: readonly (string | Buffer)[], trailer = ""): Buffer {
  const parts: Buffer[] = [Buffer.from("%PDF-1.7\n")]
  const places: number[] = []
  let length = parts[0]?.length ?? 0
  const add = (part: Buffer) => {
    parts.push(part)
    length += part.length
  }
  for (const [index, object] of objects.entries()) {
    places.push(length)
    add(Buffer.concat([Buffer.from(`${index + 1} 0 obj\n`), Buffer.from(object), Buffer.from("\nendobj\n")]))
  }
  const rows = places.map((place) => `${String(place).padStart(10, "0")} 00000 n \n`).join("")
  const start = length
  add(Buffer.from(`xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${rows}`))
  add(Buffer.from(`trailer\n<< /Size ${objects.length + 1} /Root 1 0 R ${trailer} >>\nstartxref\n${start}\n%%EOF`))
  return Buffer.concat(parts)
}

function streamOf(bytes: Buffer, entries = ""): Buffer {
  return Buffer.concat([Buffer.from(`<< /Length ${bytes.length} ${entries} >>\nstream\n`), bytes, Buffer.from("\nendstream")])
}

const page = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>"
const font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"

function withContents(contents: Buffer, kids = "3 0 R", count = 1): (string | Buffer)[] {
  return ["<< /Type /Catalog /Pages 2 0 R >>", `<< /Type /Pages /Kids [${kids}] /Count ${count} >>`, page, contents, font]
}

const showing = (text: string) => Buffer.from(`BT /F1 24 Tf 72 700 Td (${text}) Tj ET`)

export const pdfSaying = (text: string) => pdfOf(withContents(streamOf(showing(text))))

/** A gigabyte of text operators in a megabyte. */
export function bomb(): Buffer {
  const packed = deflateSync(Buffer.alloc(256 * 1_048_576, "(a)Tj "))
  // Deflated twice, so unpacking it once leaves packed data.
  return pdfOf(withContents(streamOf(deflateSync(packed), "/Filter [/FlateDecode /FlateDecode]")))
}

export function manyPages(count: number): Buffer {
  return pdfOf(withContents(streamOf(showing("again")), "3 0 R ".repeat(count), count))
}

/** A form that contains itself. */
export function endless(): Buffer {
  const form = streamOf(
    Buffer.from("/X Do /X Do ".repeat(1_000)),
    "/Type /XObject /Subtype /Form /BBox [0 0 1 1] /Resources << /XObject << /X 6 0 R >> >>",
  )
  const objects = withContents(streamOf(Buffer.from("/X Do")))
  objects[2] = page.replace("/Font <<", "/XObject << /X 6 0 R >> /Font <<")
  return pdfOf([...objects, form])
}

/** With its own password. (RC4 with 40 bits would be refused without a password.) */
export function encrypted(): Buffer {
  const id = "0123456789abcdef0123456789abcdef"
  const entry = createHash("sha256").update("owner").digest("hex")
  const cipher = createCipheriv("aes-128-ecb", Buffer.alloc(16, 1), null)
  const contents = streamOf(Buffer.concat([cipher.update(showing("secret")), cipher.final()]))
  const rules = `<< /Filter /Standard /V 1 /R 2 /O <${entry}> /U <${entry}> /P -44 >>`
  return pdfOf([...withContents(contents), rules], `/Encrypt 6 0 R /ID [<${id}> <${id}>]`)
}

/** Forms that contain others ten times each, ten levels deep. */
export function laughs(): Buffer {
  const forms = Array.from({ length: 10 }, (_, depth) => {
    const next = depth === 9 ? "" : `/XObject << /X ${7 + depth} 0 R >>`
    const shows = Buffer.from(depth === 9 ? "BT /F1 1 Tf (a ) Tj ET" : "/X Do ".repeat(10))
    return streamOf(shows, `/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /Font << /F1 5 0 R >> ${next} >>`)
  })
  const objects = withContents(streamOf(Buffer.from("/X Do")))
  objects[2] = page.replace("/Font <<", "/XObject << /X 6 0 R >> /Font <<")
  return pdfOf([...objects, ...forms])
}
