// Quantiles of Student's t distribution for two-sided 95 % intervals.

const quantiles = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11, 2.101, 2.093, 2.086,
  2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042,
]

/** Beyond 30 degrees of freedom the normal distribution's, corrected to the first order. */
export function studentT(degrees: number): number {
  if (degrees <= quantiles.length) return quantiles[Math.max(degrees, 1) - 1] ?? 0
  const z = 1.959964
  return z + (z ** 3 + z) / (4 * degrees)
}
