import { describe, expect, it } from 'vitest'
import { Counter, Histogram, metricText } from './prometheus.ts'

describe('metrics as text', () => {
  it('has a line for each set of labels, with their values escaped', () => {
    const counter = new Counter('calls_total', 'Calls.')
    counter.add({ server: 'a"b\\c\nd' })
    counter.add({ server: 'a"b\\c\nd' }, 2)
    expect(metricText(counter.values())).toBe(
      '# HELP calls_total Calls.\n# TYPE calls_total counter\ncalls_total{server="a\\"b\\\\c\\nd"} 3\n',
    )
  })

  it('counts what goes beyond its bounds together', () => {
    const counter = new Counter('calls_total', 'Calls.')
    for (let at = 0; at < 1_500; at++) counter.add({ server: String(at) })
    expect(metricText(counter.values()).split('\n').length).toBeLessThan(1_010)
    expect(metricText(counter.values())).toContain('calls_total{server="other"} 500\n')
  })

  it('has buckets that add up', () => {
    const histogram = new Histogram('seconds', 'Time.')
    for (const value of [0.0005, 0.02, 100]) histogram.add({ server: 's' }, value)
    const text = metricText(histogram.values())
    expect(text).toContain('seconds_bucket{server="s",le="0.001"} 1\n')
    expect(text).toContain('seconds_bucket{server="s",le="0.025"} 2\n')
    expect(text).toContain('seconds_bucket{server="s",le="60"} 2\n')
    expect(text).toContain('seconds_bucket{server="s",le="+Inf"} 3\n')
    expect(text).toContain('seconds_count{server="s"} 3\n')
  })
})
