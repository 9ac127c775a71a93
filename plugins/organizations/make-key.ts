// Prints a fresh API key, for MILLRACE_BOOTSTRAP_KEY: `node plugins/organizations/make-key.ts`.
import { drawKey } from "./key-format.ts"

process.stdout.write(`${drawKey("api_key").text}\n`)
