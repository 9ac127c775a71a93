// The reading process: reads one document of an untrusted author, then ends. It first loads its program, and the service then
// denies it all descriptors. Then it reads the document.
import { answerOf, type ReadResult, ready, type SizedTask } from "./protocol.ts"
import { readHtml } from "./read-html.ts"
import { loadPdf, readPdf } from "./read-pdf.ts"
import { decoded, readText } from "./read-text.ts"

const maxBytes = 64 * 1_048_576

const task = JSON.parse(process.argv[2] ?? "") as SizedTask
if (task.bytes > maxBytes) throw new RangeError(`A document of ${task.bytes} bytes is too long.`)
const pdf = task.type === "pdf" ? await loadPdf() : undefined

function answer(result: ReadResult): void {
  process.stdout.write(answerOf(result), () => process.exit(0))
}

async function read(body: Buffer): Promise<ReadResult> {
  if (task.type === "text") return readText(body, task.charset, task.maxCharacters)
  return pdf ? await readPdf(pdf, new Uint8Array(body), task) : readHtml(decoded(body, task.charset), task)
}

const pieces: Buffer[] = []
let missing = task.bytes + 1
process.stdin.on("data", (piece: Buffer) => {
  pieces.push(piece)
  missing -= piece.length
  if (missing !== 0) return
  const body = Buffer.concat(pieces).subarray(1)
  read(body).then(answer, (error: Error) => answer({ kind: "fault", fault: "malformed", message: error.message.slice(0, 300) }))
})
process.stdin.on("end", () => process.exit(1))
process.stdout.write(ready)
