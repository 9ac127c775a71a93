// What a service knows of being one of several workers.
import type { Link } from "../../contract/link.ts"

export interface WorkerPlace {
  readonly link: Link
  /** Among the workers, from 0. */
  readonly slot: number
  readonly workers: number
  /** Where in the file system a worker takes requests that belong to its live sockets. */
  readonly doorOf: (slot: number) => string
}
