// Cosine similarity of two vectors: 1 for the same direction, 0 for orthogonal vectors or a zero vector.
export function cosine(first: readonly number[], second: readonly number[]): number {
  let [dot, ofOne, ofOther] = [0, 0, 0]
  for (const [place, a] of first.entries()) {
    const b = second[place] ?? 0
    dot += a * b
    ofOne += a * a
    ofOther += b * b
  }
  return ofOne > 0 && ofOther > 0 ? dot / Math.sqrt(ofOne * ofOther) : 0
}
