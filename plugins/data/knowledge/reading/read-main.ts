// The reading process: one document of somebody's, and then it ends. It is started with nothing in its environment and under a
// limit on its memory, says when it has loaded what it needs, and is sent the document once it can open nothing any more.
import { frameOf, frameReader, framesOf, type ReadResult, type ReadTask } from "./protocol.ts"
import { readHtml } from "./read-html.ts"
import { loadPdf, readPdf } from "./read-pdf.ts"
import { decoded, readText } from "./read-text.ts"

const maxTaskBytes = 64 * 1_048_576

const pdf = process.argv[2] === "pdf" ? await loadPdf() : undefined

function answer(result: ReadResult): void {
  process.stdout.write(framesOf(result), () => process.exit(0))
}

async function read(task: ReadTask, body: Buffer): Promise<ReadResult> {
  if (task.type === "text") return readText(body, task.charset, task.maxCharacters)
  return pdf ? await readPdf(pdf, new Uint8Array(body), task) : readHtml(decoded(body, task.charset), task)
}

let task: ReadTask | undefined

const take = frameReader(maxTaskBytes, (body) => {
  if (task === undefined) {
    task = JSON.parse(body.toString("utf8")) as ReadTask
    return
  }
  read(task, body).then(answer, (error: Error) => answer({ kind: "fault", fault: "malformed", message: error.message.slice(0, 300) }))
})
process.stdin.on("data", take)
process.stdin.on("end", () => process.exit(0))
process.stdout.write(frameOf({ kind: "ready" }))
