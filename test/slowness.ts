// For bounds in seconds: how busy the machine is, what something takes of the processor, and when nothing ran at all.

/** How many times as long as it takes of the processor something takes now, because others want it too; 1 on a quiet machine. */
export function slowness(): number {
  const began = performance.now()
  const before = process.threadCpuUsage()
  let cpuMs = 0
  while (cpuMs < 50) {
    const { user, system } = process.threadCpuUsage(before)
    cpuMs = (user + system) / 1_000
  }
  return Math.max(1, (performance.now() - began) / cpuMs)
}

/** Milliseconds of the processor that it takes of this thread: what the thread waits for, and for how long, does not count. */
export async function processorMs(run: () => unknown): Promise<number> {
  const before = process.threadCpuUsage()
  await run()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
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

/** Measures how long something takes while this process gets to run: what its timers are late, it and the machine stood still. */
export class RunningTime {
  #lateMs = 0
  #tickedAt = performance.now()
  readonly #timer = setInterval(() => this.#tick(), tickMs)

  /** Milliseconds of running time, since it was made. */
  now(): number {
    this.#tick()
    return performance.now() - this.#lateMs
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #tick(): void {
    const at = performance.now()
    this.#lateMs += Math.max(0, at - this.#tickedAt - tickMs)
    this.#tickedAt = at
  }
}
