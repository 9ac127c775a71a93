// The compile child passes texts into its isolate and returns the answers. It evaluates user text, and code derived from user
// text, only inside the isolate.
import ivm from "isolated-vm"
import { Hand } from "./hand.ts"
import { endChild, openChild, type Send } from "./open-child.ts"

type Compile = (schema: string, transform: string | null, entry: string) => string

const [hardDeadlineMs = "", memoryMb = ""] = process.argv.slice(2)
const hand = new Hand(Number(hardDeadlineMs))
let isolate: ivm.Isolate
let compile: ivm.Reference<Compile>

openChild({
  load(bundle) {
    const code = `(()=>{${bundle};millraceCompiler.warm();globalThis.compile=millraceCompiler.compile})()`
    const snapshot = ivm.Isolate.createSnapshot([{ code, filename: "millrace-compiler.js" }]).copy()
    isolateFrom(snapshot)
    return Buffer.from(snapshot).toString("base64")
  },
  loadSnapshot(snapshot) {
    const bytes = Buffer.from(snapshot, "base64")
    isolateFrom(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer)
  },
  onFrame([id = "", schema = "", hasTransform = "", transform = "", entry = ""], send) {
    answer(send, id, [schema, hasTransform === "1" ? transform : null, entry]).catch(endChild)
  },
})

/** Creates the isolate from a snapshot of a warm compiler. It starts in a tenth of the time. */
function isolateFrom(snapshot: ArrayBuffer): void {
  isolate = new ivm.Isolate({ memoryLimit: Number(memoryMb), snapshot: new ivm.ExternalCopy(snapshot) })
  const take = "(()=>{const taken=globalThis.compile;delete globalThis.compile;return taken})()"
  compile = isolate.createContextSync().evalSync(take, { reference: true }) as ivm.Reference<Compile>
}

async function answer(send: Send, id: string, args: Parameters<Compile>): Promise<void> {
  hand.take(id)
  try {
    send([id, "compiled", String(await compile.apply(undefined, args))])
  } catch (error) {
    send([id, isolate.isDisposed ? "memory" : "failed", error instanceof Error ? error.message.slice(0, 500) : ""])
  } finally {
    hand.leave()
  }
}
