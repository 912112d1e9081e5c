export type Labels = Readonly<Record<string, string>>

/** Label sets of one metric; what goes beyond is counted together, so that nobody fills the memory. */
const MAX_SERIES = 1_000
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/** A number for each set of labels, in the text format of Prometheus. */
export class Counter {
  readonly #name: string
  readonly #head: string
  readonly #series = new Map<string, number>()

  constructor(name: string, help: string, type: 'counter' | 'gauge' = 'counter') {
    this.#name = name
    this.#head = `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`
  }

  add(labels: Labels, value = 1): void {
    const key = boundedKey(labels, this.#series)
    this.#series.set(key, (this.#series.get(key) ?? 0) + value)
  }

  text(): string {
    const lines = [...this.#series].map(([labels, value]) => `${this.#name}${braced(labels)} ${value}\n`)
    return this.#head + lines.join('')
  }
}

/** How values are spread, for each set of labels. */
export class Histogram {
  readonly #name: string
  readonly #help: string
  readonly #series = new Map<string, { readonly counts: number[]; sum: number }>()

  constructor(name: string, help: string) {
    this.#name = name
    this.#help = help
  }

  add(labels: Labels, value: number): void {
    const key = boundedKey(labels, this.#series)
    const series = this.#series.get(key) ?? { counts: new Array<number>(BUCKETS.length + 1).fill(0), sum: 0 }
    this.#series.set(key, series)
    const at = BUCKETS.findIndex((bound) => value <= bound)
    const bucket = at < 0 ? BUCKETS.length : at
    series.counts[bucket] = (series.counts[bucket] ?? 0) + 1
    series.sum += value
  }

  text(): string {
    const name = this.#name
    const lines = [...this.#series].flatMap(([labels, { counts, sum }]) => {
      let total = 0
      const buckets = counts.map((count, at) => {
        total += count
        const bound = labelText({ le: String(BUCKETS[at] ?? '+Inf') })
        return `${name}_bucket${braced(labels === '' ? bound : `${labels},${bound}`)} ${total}\n`
      })
      return [
        ...buckets,
        `${name}_sum${braced(labels)} ${sum}\n`,
        `${name}_count${braced(labels)} ${total}\n`,
      ]
    })
    return `# HELP ${name} ${this.#help}\n# TYPE ${name} histogram\n${lines.join('')}`
  }
}

function boundedKey(labels: Labels, known: ReadonlyMap<string, unknown>): string {
  const key = labelText(labels)
  if (known.has(key) || known.size < MAX_SERIES) return key
  return labelText(Object.fromEntries(Object.keys(labels).map((name) => [name, 'other'])))
}

function labelText(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${value.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`)
    .join(',')
}

function braced(labels: string): string {
  return labels === '' ? '' : `{${labels}}`
}
