/** The median of several runs: timings here are noisy, and one slow run should not decide. */
export function median(runs: number, measure: () => number): number {
  const values = Array.from({ length: runs }, measure).sort((a, b) => a - b)
  return values[Math.floor(values.length / 2)] ?? Number.NaN
}

/** A value as a multiple of another. */
export function ratio(value: number | undefined, other: number | undefined): string {
  return `${((value ?? Number.NaN) / (other ?? Number.NaN)).toFixed(2)}×`
}

/** Prints rows in aligned columns, numbers right-aligned. */
export function printTable(rows: readonly Readonly<Record<string, string | number>>[]): void {
  const columns = Object.keys(rows[0] ?? {})
  const cells = rows.map((row) => columns.map((column) => format(row[column])))
  const widths = columns.map((column, index) =>
    Math.max(column.length, ...cells.map((row) => row[index]?.length ?? 0)),
  )
  const line = (texts: readonly string[]) =>
    texts.map((text, index) => align(text, widths[index] ?? 0)).join('  ')
  console.log(`  ${line(columns)}`)
  for (const row of cells) console.log(`  ${line(row)}`)
}

function format(value: string | number | undefined): string {
  return typeof value === 'number' ? value.toLocaleString('en-US') : (value ?? '')
}

function align(text: string, width: number): string {
  return /^[\d.,×%-]+$/.test(text) ? text.padStart(width) : text.padEnd(width)
}
