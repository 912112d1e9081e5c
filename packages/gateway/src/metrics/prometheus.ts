export type Labels = Readonly<Record<string, string>>

/** A metric as values. */
export interface MetricValues {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  /** One per set of labels. */
  readonly series: readonly MetricSeries[]
}

export interface MetricSeries {
  readonly labels: Labels
  /** The number; for a histogram, how many values it has. */
  readonly value: number
  /** The sum of a histogram's values, and how many are at most each bound; the last bound is infinite. */
  readonly sum?: number
  readonly buckets?: readonly { readonly atMost: number; readonly count: number }[]
}

/** Label sets per metric; further ones are counted together, so that memory stays bounded. */
const MAX_SERIES = 1_000
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/** A number for each set of labels. */
export class Counter {
  readonly #name: string
  readonly #help: string
  readonly #type: 'counter' | 'gauge'
  readonly #series = new BoundedSeries(() => ({ value: 0 }))

  constructor(name: string, help: string, type: 'counter' | 'gauge' = 'counter') {
    this.#name = name
    this.#help = help
    this.#type = type
  }

  add(labels: Labels, value = 1): void {
    this.#series.of(labels).value += value
  }

  values(): MetricValues {
    const series = this.#series.all().map(({ labels, value }) => ({ labels, value }))
    return { name: this.#name, help: this.#help, type: this.#type, series }
  }
}

/** A distribution of values for each set of labels. */
export class Histogram {
  readonly #name: string
  readonly #help: string
  readonly #series = new BoundedSeries(() => ({
    counts: new Array<number>(BUCKETS.length + 1).fill(0),
    sum: 0,
  }))

  constructor(name: string, help: string) {
    this.#name = name
    this.#help = help
  }

  add(labels: Labels, value: number): void {
    const series = this.#series.of(labels)
    const at = BUCKETS.findIndex((bound) => value <= bound)
    const bucket = at < 0 ? BUCKETS.length : at
    series.counts[bucket] = (series.counts[bucket] ?? 0) + 1
    series.sum += value
  }

  values(): MetricValues {
    const series = this.#series.all().map(({ labels, counts, sum }) => {
      let total = 0
      const buckets = counts.map((count, at) => {
        total += count
        return { atMost: BUCKETS[at] ?? Number.POSITIVE_INFINITY, count: total }
      })
      return { labels, value: total, sum, buckets }
    })
    return { name: this.#name, help: this.#help, type: 'histogram', series }
  }
}

/** Counts for each set of labels, up to a maximum number of sets. */
class BoundedSeries<Counts extends object> {
  readonly #empty: () => Counts
  readonly #series = new Map<string, Counts & { readonly labels: Labels }>()

  constructor(empty: () => Counts) {
    this.#empty = empty
  }

  of(labels: Labels): Counts {
    const key = keyOf(labels)
    const known = this.#series.get(key)
    if (known) return known
    if (this.#series.size < MAX_SERIES) return this.#add(key, labels)
    const others = Object.fromEntries(Object.keys(labels).map((name) => [name, 'other']))
    return this.#series.get(keyOf(others)) ?? this.#add(keyOf(others), others)
  }

  all(): readonly (Counts & { readonly labels: Labels })[] {
    return [...this.#series.values()]
  }

  #add(key: string, labels: Labels): Counts {
    const series = { ...this.#empty(), labels }
    this.#series.set(key, series)
    return series
  }
}

/** Cheap, because it runs on every call: joins label values with a character that they do not contain. */
function keyOf(labels: Labels): string {
  let key = ''
  for (const name in labels) key += `${labels[name]}\0`
  return key
}

/** A metric in the text format of Prometheus. */
export function metricText({ name, help, type, series }: MetricValues): string {
  const lines = series.flatMap(({ labels, value, sum, buckets }) => {
    const text = labelText(labels)
    if (!buckets) return [`${name}${braced(text)} ${value}\n`]
    const bounds = buckets.map(({ atMost, count }) => {
      const bound = `le="${atMost === Number.POSITIVE_INFINITY ? '+Inf' : atMost}"`
      return `${name}_bucket${braced(text === '' ? bound : `${text},${bound}`)} ${count}\n`
    })
    return [...bounds, `${name}_sum${braced(text)} ${sum}\n`, `${name}_count${braced(text)} ${value}\n`]
  })
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

function labelText(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${value.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`)
    .join(',')
}

function braced(labels: string): string {
  return labels === '' ? '' : `{${labels}}`
}
