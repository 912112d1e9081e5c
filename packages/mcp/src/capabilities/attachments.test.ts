import { describe, expect, it } from 'vitest'
import { attachmentsBackend } from './attachments.ts'
import { testScope } from './testing-scope.ts'

describe('attachments', () => {
  it('are copies for each call: changes are not visible to others', async () => {
    const data = Buffer.from('picture')
    const scope = testScope({ attachments: [{ name: 'a.png', mimeType: 'image/png', data }] })
    const [first] = await attachmentsBackend().open(true, scope)
    const bytes = first?.data as Uint8Array
    bytes.fill(0)
    const [second] = await attachmentsBackend().open(true, scope)
    expect(Buffer.from(second?.data as Uint8Array).toString()).toBe('picture')
    expect(data.toString()).toBe('picture')
  })

  it('cannot be renamed or added to', async () => {
    const scope = testScope({ attachments: [{ name: 'a', mimeType: 'text/plain', data: 'x' }] })
    const given = await attachmentsBackend().open(true, scope)
    expect(() => Object.assign(given[0] ?? {}, { name: 'b' })).toThrow(TypeError)
    expect(() => (given as unknown[]).push(1)).toThrow(TypeError)
  })
})
