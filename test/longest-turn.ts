// The longest turn of this thread's event loop, in processor time: while one lasts, nobody else is served. A machine that
// gives the thread no time makes no turn longer.
const { threadCpuUsage } = process

/** Milliseconds of the processor that the longest turn took while `run` went on, and what it gave. */
export async function longestTurn<T>(run: () => Promise<T>): Promise<{ milliseconds: number; value: T }> {
  let longest = 0
  let going = true
  let used = threadCpuUsage()
  const look = () => {
    const { user, system } = threadCpuUsage(used)
    used = threadCpuUsage()
    longest = Math.max(longest, (user + system) / 1_000)
    if (going) setImmediate(look)
  }
  setImmediate(look)
  try {
    const value = await run()
    return { milliseconds: longest, value }
  } finally {
    going = false
  }
}
