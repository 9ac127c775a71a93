// Times in callers' notation: RFC 3339 with any offset, stored and compared as UTC with milliseconds.
import { expect } from "chai"
import { z } from "zod"
import { Timestamp } from "#core"

describe("a time of a caller", () => {
  it("is made UTC with milliseconds, from any offset and precision", () => {
    const created = {
      "2027-01-01T00:00:00+02:00": "2026-12-31T22:00:00.000Z",
      "2027-01-01T00:00:00.5-00:30": "2027-01-01T00:30:00.500Z",
      "2027-01-01T00:00:00Z": "2027-01-01T00:00:00.000Z",
      "2027-01-01T00:00:00.123Z": "2027-01-01T00:00:00.123Z",
      "2027-01-01T00:00:00.123456Z": "2027-01-01T00:00:00.123Z",
      "0000-01-01T00:00:00+01:00": "0000-01-01T00:00:00.000Z",
      "9999-12-31T23:59:59-01:00": "9999-12-31T23:59:59.999Z",
    }
    for (const [input, stored] of Object.entries(created)) expect(Timestamp.parse(input), input).to.equal(stored)
  })

  it("is refused where it is invalid", () => {
    for (const input of ["2027-01-01", "2027-01-01T00:00:00", "2027-02-30T00:00:00Z", "2027-01-01T00:00:00+25:00", "soon", 1])
      expect(Timestamp.safeParse(input).success, String(input)).to.equal(false)
  })

  it("is a date-time in JSON Schema, asked for and answered", () => {
    for (const io of ["input", "output"] as const)
      expect(z.toJSONSchema(Timestamp, { io })).to.include({ type: "string", format: "date-time" })
  })
})
