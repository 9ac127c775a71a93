// Unpacks the packaged Chromium into the folder in TMPDIR. Runs as a separate process, since only this variable sets the folder.
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { inflate } from "@sparticuz/chromium"

const packed = join(dirname(fileURLToPath(import.meta.resolve("@sparticuz/chromium"))), "../bin")

const names = ["chromium.br", "fonts.tar.br", "swiftshader.tar.br", "al2023.tar.br"]
for (const outcome of await Promise.allSettled(names.map((name) => inflate(join(packed, name)))))
  if (outcome.status === "rejected") throw outcome.reason
