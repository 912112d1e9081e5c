import { describe, expect, it } from 'vitest'
import { isImage, resultParts } from './result-parts.ts'

const PNG = 'iVBORw0KGgoAAAA='

describe('media in a result', () => {
  const partsOf = (mimeType: string, data: string) =>
    resultParts({ ok: true, value: 'x', content: [{ type: 'image', mimeType, data }] }, isImage)

  it.each([
    ['too large', `${PNG.slice(0, 11)}${'A'.repeat(5_242_880)}`, 'too large to be shown'],
    ['not base64', 'näh', 'not base64'],
    ['empty', '', 'not base64'],
    ['a letter too many', 'AAAAA', 'not base64'],
  ])('that a provider would reject are mentioned: %s', (_why, data, reason) => {
    const [text, ...others] = partsOf('image/png', data)
    expect(others).toEqual([])
    expect(text).toMatchObject({ kind: 'text', text: expect.stringContaining(reason) })
  })

  it('have the type of their data, whatever the server says', () => {
    expect(partsOf('image/jpeg', PNG)[1]).toEqual({ kind: 'media', mimeType: 'image/png', data: PNG })
    expect(partsOf('image/svg+xml', PNG)).toHaveLength(1)
  })

  it('are sent as plain base64, with its padding, without line breaks or the beginning of a URL', () => {
    const lines = `data:image/png;base64,${PNG.slice(0, 8)}\r\n${PNG.slice(8)}\n`
    expect(partsOf('image/png', lines)[1]).toMatchObject({ data: PNG })
    expect(partsOf('image/png', PNG.slice(0, -1))[1]).toMatchObject({ data: PNG })
  })
})
