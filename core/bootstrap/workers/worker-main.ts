// One of several workers: as their parent starts it: with the socket where it is reached, and a number.
import { startWorker } from "./worker.ts"

const [, , parentSocket = "", slot = ""] = process.argv
await startWorker(parentSocket, Number(slot))
