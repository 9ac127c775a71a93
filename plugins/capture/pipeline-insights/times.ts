// Times as text, compared.

export function later(a: string, b: string): string {
  return [a, b].sort()[1] ?? a
}

export function earlier(a: string, b: string): string {
  return [a, b].sort()[0] ?? a
}
