// Ids in order of time, within a millisecond and after the clock steps back. Also ids derived from names.
import { expect } from "chai"
import fc from "fast-check"
import type { Clock } from "../../core/kernel/clock.ts"
import { derivedUuid, derivedUuidInOrder, isUuid, timeOrderedIds } from "../../core/kernel/ids.ts"

function clockAt(times: readonly number[]): Clock {
  let at = 0
  return { now: () => times[Math.min(at++, times.length - 1)] ?? 0, monotonic: () => 0, after: () => () => undefined }
}

const versionOf = (uuid: string) => uuid.charAt(14)
const timeOf = (uuid: string) => Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16)
const rfcVariant = /^.{19}[89ab]/

describe("fresh ids", () => {
  it("are UUIDs of version 7 that carry the time", () => {
    const uuid = timeOrderedIds(clockAt([1_700_000_000_123])).uuid()
    expect(isUuid(uuid)).to.equal(true)
    expect([versionOf(uuid), timeOf(uuid)]).to.deep.equal(["7", 1_700_000_000_123])
    expect(uuid).to.match(rfcVariant)
  })

  it("grow, 20,000 within one millisecond, and none comes twice", () => {
    const ids = timeOrderedIds(clockAt([1_700_000_000_000]))
    const drawn = Array.from({ length: 20_000 }, () => ids.uuid())
    expect(drawn.every((uuid, n) => n === 0 || uuid > (drawn[n - 1] ?? ""))).to.equal(true)
    expect(drawn.every((uuid) => isUuid(uuid) && versionOf(uuid) === "7" && rfcVariant.test(uuid))).to.equal(true)
  })

  it("grow, also where the clock is set back", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 2 ** 47 }), { minLength: 2, maxLength: 50 }), (times) => {
        const ids = timeOrderedIds(clockAt(times))
        const drawn = times.map(() => ids.uuid())
        expect(drawn).to.deep.equal([...new Set(drawn)].sort())
      }),
    )
  })

  it("differ between two processes at one instant", () => {
    const [first, second] = [timeOrderedIds(clockAt([5])), timeOrderedIds(clockAt([5]))]
    expect(first.uuid()).to.not.equal(second.uuid())
  })
})

describe("derived ids", () => {
  it("are the same for the same parts, of version 8, and differ however the parts are cut", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string(), { minLength: 1, maxLength: 4 }),
        fc.array(fc.string(), { minLength: 1, maxLength: 4 }),
        (first, second) => {
          const id = derivedUuid(...first)
          expect(id)
            .to.equal(derivedUuid(...first))
            .and.match(rfcVariant)
          expect([isUuid(id), versionOf(id)]).to.deep.equal([true, "8"])
          expect(id === derivedUuid(...second)).to.equal(JSON.stringify(first) === JSON.stringify(second))
        },
      ),
    )
    expect(derivedUuid("a", "bc")).to.not.equal(derivedUuid("ab", "c"))
    expect(derivedUuid("a", "")).to.not.equal(derivedUuid("a"))
  })

  it("stand in the order of the events they derive from", () => {
    const ids = timeOrderedIds(clockAt([1_000, 2_000, 3_000]))
    const events = [ids.uuid(), ids.uuid(), ids.uuid()]
    const rows = events.map((event) => derivedUuidInOrder(event, "save", "0"))
    expect(rows).to.deep.equal([...rows].sort())
    expect(rows.every((row, n) => isUuid(row) && row.slice(0, 13) === events[n]?.slice(0, 13))).to.equal(true)
    expect(derivedUuidInOrder(events[0] ?? "", "save", "0")).to.equal(rows[0])
    expect(derivedUuidInOrder(events[0] ?? "", "save", "1")).to.not.equal(rows[0])
  })

  it("is told from what only looks like one", () => {
    for (const text of [
      "",
      "leads",
      "0199AAAA-0000-7000-8000-000000000001",
      "0199aaaa-0000-7000-8000-00000000000",
      "0199aaaa000070008000000000000001",
    ])
      expect(isUuid(text), text).to.equal(false)
  })
})
