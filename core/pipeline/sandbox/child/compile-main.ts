// The compile child: carries texts into its isolate and what the isolate answers back. Nothing that a user wrote, and
// nothing that is made of it, is evaluated in this process outside of the isolate.
import ivm from "isolated-vm"
import { Hand } from "./hand.ts"
import { openChild, type Send } from "./open-child.ts"

type Compile = (schema: string, transform: string | null, entry: string) => string

const [hardDeadlineMs = "", memoryMb = ""] = process.argv.slice(2)
const hand = new Hand(Number(hardDeadlineMs))
const isolate = new ivm.Isolate({ memoryLimit: Number(memoryMb) })
let compile: ivm.Reference<Compile>

openChild({
  load(bundle) {
    compile = isolate.createContextSync().evalClosureSync(`${bundle};millraceCompiler.warm();return millraceCompiler.compile`, [], {
      result: { reference: true },
      filename: "millrace-compiler.js",
    }) as ivm.Reference<Compile>
  },
  onFrame([id = "", schema = "", hasTransform = "", transform = "", entry = ""], send) {
    void answer(send, id, [schema, hasTransform === "1" ? transform : null, entry])
  },
})

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
