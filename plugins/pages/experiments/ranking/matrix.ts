// What standard errors need of linear algebra: the inverse of a symmetric positive definite matrix, and products. Rows are
// hoisted out of the inner loops: these are all of the time that a fit of a hundred keys takes.

export type Matrix = readonly Float64Array[]

export function zeros(size: number): Float64Array[] {
  return Array.from({ length: size }, () => new Float64Array(size))
}

/** By Cholesky's decomposition. Throws RangeError where the matrix is not positive definite. */
export function inverse(matrix: Matrix): Float64Array[] {
  const lower = cholesky(matrix)
  const inverted = invertedLower(lower)
  const result = zeros(matrix.length)
  // The product of the inverted factor's transpose with itself.
  for (const row of inverted) {
    for (const [place, one] of row.entries()) {
      if (one === 0) continue
      const into = result[place] as Float64Array
      for (let column = 0; column < row.length; column++) into[column] = (into[column] as number) + one * (row[column] as number)
    }
  }
  return result
}

export function product(left: Matrix, right: Matrix): Float64Array[] {
  const result = zeros(left.length)
  for (const [row, cells] of left.entries()) {
    const into = result[row] as Float64Array
    for (let k = 0; k < cells.length; k++) {
      const cell = cells[k] as number
      if (cell === 0) continue
      const other = right[k] as Float64Array
      for (let column = 0; column < into.length; column++) into[column] = (into[column] as number) + cell * (other[column] as number)
    }
  }
  return result
}

export function at(matrix: Matrix, row: number, column: number): number {
  return matrix[row]?.[column] ?? 0
}

export function add(matrix: Matrix, row: number, column: number, value: number): void {
  const cells = matrix[row]
  if (cells) cells[column] = (cells[column] ?? 0) + value
}

function cholesky(matrix: Matrix): Float64Array[] {
  const lower = zeros(matrix.length)
  for (const [row, into] of lower.entries()) {
    for (let column = 0; column <= row; column++) {
      const other = lower[column] as Float64Array
      let sum = at(matrix, row, column)
      for (let k = 0; k < column; k++) sum -= (into[k] as number) * (other[k] as number)
      if (row === column && !(sum > 0)) throw new RangeError("The matrix is not positive definite.")
      into[column] = row === column ? Math.sqrt(sum) : sum / (other[column] as number)
    }
  }
  return lower
}

function invertedLower(lower: Matrix): Float64Array[] {
  const inverted = zeros(lower.length)
  for (const [row, into] of inverted.entries()) {
    const factors = lower[row] as Float64Array
    const diagonal = factors[row] as number
    for (let k = 0; k < row; k++) {
      const above = inverted[k] as Float64Array
      const factor = (factors[k] as number) / diagonal
      for (let column = 0; column <= k; column++) into[column] = (into[column] as number) - factor * (above[column] as number)
    }
    into[row] = 1 / diagonal
  }
  return inverted
}
