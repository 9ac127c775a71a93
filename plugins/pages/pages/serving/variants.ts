// Which variant a visitor sees: by a hash of visitor and page, so that it is the same every time and on every node, and
// close to the weights over many visitors; and which one they were shown, by what they send later. Pure.
import { createHash } from "node:crypto"
import type { Variant } from "../page.ts"

/** Undefined only where nothing has a weight. Weights are taken in the order of the keys, so that reordering variants moves nobody. */
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
 * What a visitor was shown, as what they send says: a variant that the page has, or one that is proven though the page has
 * it no more. "" for any other, since whichever were chosen now may never have been shown.
 */
export function shownVariant(variants: readonly Variant[], variantKey: string, isProven: boolean): string {
  return isProven || variants.some(({ key }) => key === variantKey) ? variantKey : ""
}
