// Chooses a visitor's variant by a hash of visitor and page. The choice is the same on every node and every time.
// Over many visitors it approaches the weights. Also reads the shown variant from later events. Pure.
import { createHash } from "node:crypto"
import type { Variant } from "../page.ts"

/**
 * Returns undefined only if no variant has a weight. Weights are read in order of the keys, so a new order of variants moves no
 * visitor.
 */
export function chooseVariant(variants: readonly Variant[], visitor: string, page: string): Variant | undefined {
  const weighted = variants.filter(({ weight }) => weight > 0).sort((left, right) => (left.key < right.key ? -1 : 1))
  const total = weighted.reduce((sum, { weight }) => sum + weight, 0)
  const hash = createHash("sha256")
    .update(JSON.stringify([page, visitor]))
    .digest()
  let point = (hash.readUIntBE(0, 6) / 2 ** 48) * total
  for (const variant of weighted) {
    point -= variant.weight
    if (point < 0) return variant
  }
  return weighted.at(-1)
}

/**
 * Returns the variant shown to a visitor, from the sent envelope: a current variant of the page, or a removed variant with a
 * proof. Otherwise returns "": the variant chosen now may never have been shown.
 */
export function shownVariant(variants: readonly Variant[], variantKey: string, isProven: boolean): string {
  return isProven || variants.some(({ key }) => key === variantKey) ? variantKey : ""
}
