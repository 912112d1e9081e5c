import { describe, expect, it } from 'vitest'
import { parseQuery } from './query.ts'
import { readRequest } from './request.ts'
import { requestParts } from './request-parts.ts'

describe('request parts', () => {
  it('are empty for a request for one thing', () => {
    expect(requestParts('list the open issues of a repository')).toEqual([])
    expect(requestParts('black and white photo')).toEqual([])
  })

  it('are sentences, clauses and what "then" joins', () => {
    expect(
      requestParts(
        'Find the cheapest flight to Rome, then book a hotel nearby. Also convert 300 euros into dollars!',
      ),
    ).toEqual(['Find the cheapest flight to Rome', 'book a hotel nearby', 'convert 300 euros into dollars'])
  })

  it('leave out parts that say too little on their own', () => {
    expect(requestParts('Hi there. Book a table for two people tonight, thanks a lot.')).toEqual([])
  })

  it('may be shorter if they begin with a verb', () => {
    expect(requestParts('translate the page and upload it to the drive')).toEqual([
      'translate the page',
      'upload it to the drive',
    ])
    expect(requestParts('compare large files and small folders')).toEqual([])
  })

  it('are joined by "or", too', () => {
    expect(requestParts('create a slide deck or generate slides from a text')).toEqual([
      'create a slide deck',
      'generate slides from a text',
    ])
  })

  it('are found at once in hostile texts', () => {
    for (const filler of [' ', '.', 'and ', ', ', '\n'])
      expect(requestParts(`a b c${filler.repeat(100_000)}d e f`).length).toBeLessThanOrEqual(6)
  })

  it('are limited to a handful', () => {
    const long = Array.from({ length: 50 }, (_, at) => `count red apples ${at}`).join('. ')
    expect(requestParts(long).length).toBeLessThanOrEqual(6)
  })
})

describe('words of values', () => {
  const weights = (text: string, holders: number) =>
    Object.fromEntries(
      readRequest(parseQuery(text), () => holders).words.map((word) => [word.text, word.weight]),
    )

  it('count half', () => {
    expect(weights('send the file src/report.ts', 3)).toEqual({
      send: 1,
      the: 1,
      file: 1,
      'src/report.ts': 0.5,
    })
  })

  it('count in full if the request contains them elsewhere, too', () => {
    expect(weights('report on src/report', 3)).toMatchObject({ report: 1 })
  })
})
