// Logarithms of the gamma and beta functions, and of sums: probabilities of many observations are far too small for numbers. Pure.

const lanczos = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059, 12.507343278686905,
  -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
]

/** For positive numbers, by Lanczos's approximation (g = 7, nine terms); about 15 digits. */
export function logGamma(x: number): number {
  if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - logGamma(1 - x)
  const at = x - 1
  const base = at + 7.5
  const series = lanczos.reduce((sum, coefficient, place) => (place === 0 ? coefficient : sum + coefficient / (at + place)), 0)
  return 0.5 * Math.log(2 * Math.PI) + (at + 0.5) * Math.log(base) - base + Math.log(series)
}

export function logBeta(a: number, b: number): number {
  return logGamma(a) + logGamma(b) - logGamma(a + b)
}

/** The logarithm of the sum of exponentials; -Infinity of nothing. */
export function logSumExp(values: ArrayLike<number>): number {
  let max = Number.NEGATIVE_INFINITY
  for (let place = 0; place < values.length; place++) max = Math.max(max, values[place] as number)
  if (!Number.isFinite(max)) return max
  let sum = 0
  for (let place = 0; place < values.length; place++) sum += Math.exp((values[place] as number) - max)
  return max + Math.log(sum)
}
