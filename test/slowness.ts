// Measures for bounds in seconds: processor time, and running time without pauses of the machine.

/** Returns the processor time of this thread in milliseconds. Waiting does not count. */
async function processorMs(run: () => unknown): Promise<number> {
  const before = process.threadCpuUsage()
  await run()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}

/**
 * Like `processorMs`, for a repeatable `run`. Repeats a run over the limit and returns the least: neighbours on the machine slow
 * a run down, but the work itself takes its time in each run.
 */
export async function leastProcessorMs(limitMs: number, run: () => unknown): Promise<number> {
  let minMs = await processorMs(run)
  for (let runs = 1; runs < 3 && minMs >= limitMs; runs++) minMs = Math.min(minMs, await processorMs(run))
  return minMs
}

/** Returns the time in milliseconds, without pauses of this process or the whole machine. */
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
 * Measures time while this process can run. If a timer is late and this thread used less processor time than the delay, the rest
 * was a pause of the process or the machine. Time used by this thread counts: the bound must detect it.
 */
export class RunningTime {
  #stoodMs = 0
  #tickedAt = performance.now()
  #used = process.threadCpuUsage()
  readonly #timer = setInterval(() => this.#tick(), tickMs)

  /** Running time since the construction, in milliseconds. */
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
