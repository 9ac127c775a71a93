// Unpacks the Chromium that comes as a package into the folder that TMPDIR names; run as a process of its own, since
// that variable is the only way to say where to.
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { inflate } from "@sparticuz/chromium"

const packed = join(dirname(fileURLToPath(import.meta.resolve("@sparticuz/chromium"))), "../bin")

const names = ["chromium.br", "fonts.tar.br", "swiftshader.tar.br", "al2023.tar.br"]
for (const outcome of await Promise.allSettled(names.map((name) => inflate(join(packed, name)))))
  if (outcome.status === "rejected") throw outcome.reason
