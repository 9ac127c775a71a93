// Quiet hours by the local time of people.
import { expect } from "chai"
import fc from "fast-check"
import { loudAt, zonesOf } from "../../../plugins/people/conversations/egress/quiet-hours.ts"
import { byTier, seed } from "../../tier.ts"

const hour = 3_600_000

describe("quiet hours", () => {
  const settings = { quiet_from: "21:00", quiet_until: "08:00" }
  const at = (time: string) => Date.parse(`2026-11-24T${time}:00Z`)

  it("are those of the number's area, else of its country, all of its zones, and of the person's own zone before both", () => {
    for (const [address, zones] of [
      ["+493012345678", ["Europe/Berlin", "Europe/Busingen"]],
      ["+14155550123", ["America/Los_Angeles"]],
      ["+18085550123", ["Pacific/Honolulu"]],
      ["+19075550123", ["America/Adak", "America/Anchorage"]],
      ["+551187654321", ["America/Sao_Paulo"]],
      ["+74952345678", ["Europe/Moscow"]],
      ["+61293744000", ["Australia/Sydney"]],
      ["+870123456789", ["UTC"]],
    ] as const)
      expect(zonesOf(address), address).to.deep.equal(zones)
    // Toll-free numbers, and mobile numbers without an area.
    expect(zonesOf("+18005550123")).to.include.members(["America/New_York", "Pacific/Honolulu"])
    expect(zonesOf("+61412345678")).to.include.members(["Australia/Perth", "Australia/Sydney"])
    expect(zonesOf("+79161234567")).to.include.members(["Europe/Moscow", "Asia/Vladivostok"])
    expect(zonesOf("+14155550123", "Asia/Tokyo")).to.deep.equal(["Asia/Tokyo"])
    for (const [address, now, then] of [
      ["+493012345678", "06:59", "07:00"],
      ["+493012345678", "07:00", "07:00"],
      ["+493012345678", "19:59", "19:59"],
      ["+81312345678", "12:00", "23:00"],
      ["+919876543210", "01:00", "02:30"],
      ["+14155550123", "15:00", "16:00"],
    ] as const)
      expect(loudAt(zonesOf(address), at(now), settings), `${address} ${now}`).to.equal(at(then))
    const berlin = ["Europe/Berlin"]
    expect(loudAt(berlin, at("20:00"), settings)).to.equal(at("07:00") + 24 * hour)
    expect(loudAt(berlin, at("23:00"), { quiet_from: "00:00", quiet_until: "00:00" })).to.equal(at("23:00"))
  })

  it("end at last where a country is never loud everywhere", () => {
    const rare = { quiet_from: "00:30", quiet_until: "00:15" }
    expect(loudAt(zonesOf("+79161234567"), at("12:00"), rare)).to.be.greaterThan(at("12:00"))
  })

  it("wait for the loud minute if no quarter of an hour is loud", () => {
    for (const [address, quiet_from, quiet_until, now, then] of [
      ["+493012345678", "00:00", "23:59", "12:00", "22:59"],
      ["+493012345678", "00:00", "23:59", "22:59", "22:59"],
      ["+919876543210", "21:02", "21:01", "03:00", "15:31"],
      ["+14155550123", "08:14", "08:01", "03:00", "16:01"],
    ] as const)
      expect(loudAt(zonesOf(address), at(now), { quiet_from, quiet_until }), `${address} ${quiet_from} ${now}`).to.equal(at(then))
    // The clock change of 28 March skips 02:30 in Berlin.
    const before = Date.parse("2027-03-27T02:00:00Z")
    const skipped = { quiet_from: "02:31", quiet_until: "02:30" }
    expect(loudAt(["Europe/Berlin"], before, skipped)).to.equal(Date.parse("2027-03-29T00:30:00Z"))
  })

  it("are over at the next quarter of an hour that is loud, in every zone and through changes of the clock", () => {
    const time = fc.tuple(fc.nat(23), fc.nat(59)).map((parts) => parts.map((part) => String(part).padStart(2, "0")).join(":"))
    const zone = fc.constantFrom(...Intl.supportedValuesOf("timeZone"))
    const year = fc.integer({ min: Date.parse("2026-01-01T00:00:00Z"), max: Date.parse("2026-12-31T00:00:00Z") })
    const property = fc.property(
      fc.array(zone, { minLength: 1, maxLength: 3 }),
      year,
      time,
      time,
      (zones, now, quiet_from, quiet_until) => {
        const isQuiet = (instant: number) =>
          zones.some((value) => {
            const there = new Date(instant).toLocaleTimeString("sv-SE", { timeZone: value, hour: "2-digit", minute: "2-digit" })
            const isAfter = there >= quiet_from
            const isBefore = there < quiet_until
            return quiet_from <= quiet_until ? isAfter && isBefore : isAfter || isBefore
          })
        const then = loudAt(zones, now, { quiet_from, quiet_until })
        const quarters = Array.from({ length: 96 }, (_, n) => (Math.floor(now / 900_000) + 1 + n) * 900_000)
        const loud = [now, ...quarters].find((instant) => !isQuiet(instant))
        // If no time of a day is allowed in all zones, the first zone decides.
        if (loud !== undefined) expect(then).to.equal(loud)
        else expect(then).to.be.at.least(now)
      },
    )
    fc.assert(property, { numRuns: byTier({ fast: 60, slow: 300, soak: 2_000 }), seed })
  })
})
