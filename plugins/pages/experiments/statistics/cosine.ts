// How alike two vectors point: 1 for the same direction, 0 for none in common or a vector without length.
export function cosine(one: readonly number[], other: readonly number[]): number {
  let [dot, ofOne, ofOther] = [0, 0, 0]
  for (const [place, a] of one.entries()) {
    const b = other[place] ?? 0
    dot += a * b
    ofOne += a * a
    ofOther += b * b
  }
  return ofOne > 0 && ofOther > 0 ? dot / Math.sqrt(ofOne * ofOther) : 0
}
