// The measured machine: processor, memory, system, the data's disk and its flush time. Refuses a folder in memory, since data
// there is not durable.
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from "node:fs"
import { cpus, release, totalmem } from "node:os"
import { join } from "node:path"
import { projectRoot } from "../import-graph.ts"
import { BenchProblem } from "./options.ts"

export interface Machine {
  readonly processor: string
  readonly cores: number
  readonly memory_gb: number
  readonly system: string
  readonly node: string
  readonly file_system: string
  /** Milliseconds of a flush (fdatasync) of 64 KB. */
  readonly fsync_p50_ms: number
  readonly fsync_p99_ms: number
}

/** By Linux's number. */
const fileSystems: Readonly<Record<number, string>> = {
  61267: "ext4",
  1481003842: "xfs",
  2435016766: "btrfs",
  801189825: "zfs",
  2035054128: "overlayfs",
}
const inMemory: Readonly<Record<number, string>> = { 16914836: "tmpfs", 2240043254: "ramfs" }

/**
 * Creates a data folder on the project's own disk: /tmp may be memory. The caller removes it; remaining folders are removed with
 * the process.
 */
export function benchFolder(): string {
  const type = Number(statfsSync(projectRoot).type)
  if (inMemory[type])
    throw new BenchProblem(
      `${projectRoot} lies in memory (${inMemory[type]}), where nothing is durable. Run the bench from a folder on a disk.`,
    )
  const folder = mkdtempSync(join(projectRoot, "data-bench-"))
  process.once("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))
  return folder
}

export function describeMachine(): Machine {
  const folder = benchFolder()
  try {
    const type = Number(statfsSync(folder).type)
    return {
      processor: cpus()[0]?.model.trim() ?? "unknown",
      cores: cpus().length,
      memory_gb: Math.round(totalmem() / 2 ** 30),
      system: `Linux ${release()}`,
      node: process.version,
      file_system: fileSystems[type] ?? `0x${type.toString(16)}`,
      ...flushes(join(folder, "flush")),
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export function machineText(machine: Machine): string {
  const { processor, cores, memory_gb, system, node, file_system, fsync_p50_ms, fsync_p99_ms } = machine
  return `${processor}, ${cores} cores, ${memory_gb} GB, ${system}, Node ${node}; data on ${file_system}, a flush of 64 KB takes ${fsync_p50_ms} ms (p50), ${fsync_p99_ms} ms (p99)`
}

/** Uses an overwritten file, like the write-ahead log. */
function flushes(file: string): Pick<Machine, "fsync_p50_ms" | "fsync_p99_ms"> {
  const count = 500
  const block = Buffer.alloc(65_536, 1)
  const handle = openSync(file, "w")
  try {
    for (let index = 0; index < count; index++) writeSync(handle, block)
    fdatasyncSync(handle)
    const durations = Array.from({ length: count }, (_, index) => {
      writeSync(handle, block, 0, block.length, index * block.length)
      const began = performance.now()
      fdatasyncSync(handle)
      return performance.now() - began
    }).sort((a, b) => a - b)
    const at = (share: number) => Math.round((durations[Math.floor(count * share)] ?? Number.NaN) * 100) / 100
    return { fsync_p50_ms: at(0.5), fsync_p99_ms: at(0.99) }
  } finally {
    closeSync(handle)
  }
}
