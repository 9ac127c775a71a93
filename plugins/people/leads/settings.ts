// Operator settings.
import { getCountries, isSupportedCountry } from "libphonenumber-js"
import { z } from "zod"

/** Default country of numbers without a country code. */
export const Region = z
  .string()
  .trim()
  .toUpperCase()
  .refine(
    (text) => text === "" || isSupportedCountry(text),
    `expected a country of ISO 3166-1, such as ${getCountries().slice(0, 2).join(" or ")}, or nothing`,
  )
  .describe("Country of phone numbers that are written without a country code (ISO 3166-1, such as DE); empty: such numbers are not read.")

export const LeadsSettings = z.strictObject({
  default_region: Region.default("").describe("Country of phone numbers without a country code, for organizations that set none."),
})
export type LeadsSettings = z.output<typeof LeadsSettings>
