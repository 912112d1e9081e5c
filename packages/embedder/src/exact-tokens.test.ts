import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { expect, it } from 'vitest'
import { exactTokenCounter } from './exact-tokens.ts'

it('counts as the tokenizer does', async () => {
  const count = await exactTokenCounter()
  for (const text of ['', 'list_pull_requests', 'Café 搜索 🏳️‍🌈 \u0000\ud800', '{"type":"object"}'.repeat(50)])
    expect(count(text)).toBe(countTokens(text))
})

it('counts names of special tokens as text: any server may write them', async () => {
  const count = await exactTokenCounter()
  expect(count('<|endoftext|>')).toBeGreaterThan(1)
  expect(count('ends with <|endoftext|>')).toBeGreaterThan(3)
})

it('counts long runs, as any server may write them, without an end of work', async () => {
  const count = await exactTokenCounter()
  const run = 'a'.repeat(2_000)
  const exact = countTokens(`${run} and ${run}`)
  expect(Math.abs(count(`${run} and ${run}`) - exact)).toBeLessThan(exact / 20)
  for (const sign of ['a', '!', ' ']) expect(count(sign.repeat(400_000))).toBeGreaterThan(400_000 / 128)
})
