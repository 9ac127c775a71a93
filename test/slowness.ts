// For bounds in seconds: what something takes of the processor, and when nothing ran at all.

/** Milliseconds of the processor that it takes of this thread: what the thread waits for, and for how long, does not count. */
async function processorMs(run: () => unknown): Promise<number> {
  const before = process.threadCpuUsage()
  await run()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}

/**
 * As `processorMs`, for a `run` that can be repeated. Repeats a run over the limit and returns the least: neighbours on the
 * machine slow a run down, but the work itself takes its time in each run.
 */
export async function leastProcessorMs(limitMs: number, run: () => unknown): Promise<number> {
  let minMs = await processorMs(run)
  for (let runs = 1; runs < 3 && minMs >= limitMs; runs++) minMs = Math.min(minMs, await processorMs(run))
  return minMs
}

/** Milliseconds that it takes, without those in which this process or the whole machine stood still. */
export async function runningMs(run: () => unknown): Promise<number> {
  const time = new RunningTime()
  const began = time.now()
  try {
    await run()
    return time.now() - began
  } finally {
    time.stop()
  }
}

const tickMs = 20

/**
 * Measures how long something takes while this process gets to run. Where a timer is late although this thread used less
 * of the processor than that, the process or the machine stood still for the rest; what this thread itself kept busy
 * counts, for it is what such a bound is to find.
 */
export class RunningTime {
  #stoodMs = 0
  #tickedAt = performance.now()
  #used = process.threadCpuUsage()
  readonly #timer = setInterval(() => this.#tick(), tickMs)

  /** Milliseconds of running time, since it was made. */
  now(): number {
    this.#tick()
    return this.#tickedAt - this.#stoodMs
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #tick(): void {
    const at = performance.now()
    const { user, system } = process.threadCpuUsage(this.#used)
    const lateMs = Math.max(0, at - this.#tickedAt - tickMs)
    this.#stoodMs += Math.max(0, lateMs - (user + system) / 1_000)
    this.#tickedAt = at
    this.#used = process.threadCpuUsage()
  }
}
