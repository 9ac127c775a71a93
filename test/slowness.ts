// For bounds in seconds: how busy the machine is.

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
