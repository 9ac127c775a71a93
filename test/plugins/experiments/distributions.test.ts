// Distributions against values of 25 digits, out to their tails.
import { expect } from "chai"
import { logBeta, logGamma, normalQuantile, studentT } from "../../../plugins/pages/experiments/statistics/distributions.ts"

describe("distributions", () => {
  it("has quantiles of Student's t for few and for many degrees of freedom", () => {
    for (const [degrees, quantile] of [
      [1, 12.706204736174705],
      [2, 4.302652729749464],
      [30, 2.042272456301238],
      [31, 2.0395134463964086],
      [100, 1.9839715185235522],
      [10_000, 1.9602012398906263],
    ] as const)
      expect(studentT(degrees), `${degrees} degrees`).to.be.closeTo(quantile, 1e-7)
  })

  it("counts no degree of freedom as one", () => {
    expect(studentT(0)).to.equal(studentT(1))
  })

  it("has normal quantiles in both tails", () => {
    for (const [level, quantile] of [
      [1e-10, -6.361340902404057],
      [1e-4, -3.7190164854556804],
      [0.5, 0],
      [0.995, 2.5758293035489004],
      [0.99999, 4.264890793923841],
    ] as const)
      expect(normalQuantile(level), `level ${level}`).to.be.closeTo(quantile, 1e-8)
  })

  it("has the logarithms of large factorials", () => {
    expect(logGamma(171)).to.be.closeTo(706.5730622457874, 1e-9)
    expect(logGamma(1_000_001)).to.be.closeTo(12_815_518.384658169, 1e-6)
    expect(logBeta(0.5, 0.5)).to.be.closeTo(Math.log(Math.PI), 1e-12)
  })
})
