import { describe, expect, it } from 'vitest'
import { maskSecrets } from './gateway-log.ts'

describe('secrets in messages', () => {
  it.each([
    ['rejected Bearer abc.def for /mcp', 'rejected Bearer *** for /mcp'],
    ['GET https://x.example/?api_key=12345&page=2', 'GET https://x.example/?api_key=***&page=2'],
    ['{"password": "hunter2"}', '{"password": "***"}'],
    ['got eyJhbGciOi.eyJzdWIiOi.c2ln here', 'got *** here'],
    ['the tokenizer is slow', 'the tokenizer is slow'],
  ])('%s', (text, shown) => {
    expect(maskSecrets(text)).toBe(shown)
  })
})
