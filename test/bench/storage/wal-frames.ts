// Counts the frames written to a write-ahead log, by the header of its index (`mxFrame`, page size).
import { closeSync, openSync, readSync } from "node:fs"

export class WalFrames {
  readonly #index: number
  readonly #header = Buffer.alloc(48)
  #last = 0
  #frames = 0

  constructor(file: string) {
    this.#index = openSync(`${file}-shm`, "r")
  }

  get bytes(): number {
    return this.#frames * (this.#header.readUInt16LE(14) + 24)
  }

  look(): void {
    readSync(this.#index, this.#header, 0, 48, 0)
    const frames = this.#header.readUInt32LE(16)
    this.#frames += frames >= this.#last ? frames - this.#last : frames
    this.#last = frames
  }

  reset(): void {
    this.look()
    this.#frames = 0
  }

  close(): void {
    closeSync(this.#index)
  }
}
