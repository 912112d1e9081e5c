import { expect, it } from 'vitest'
import { requireSdk } from './choose-model.ts'

it('names the package that a provider needs, and how to install it', async () => {
  await requireSdk('openai')
  await expect(requireSdk('no-such-sdk')).rejects.toMatchObject({
    code: 'config-invalid',
    message: 'the package no-such-sdk is not installed; install it with: npm install no-such-sdk',
  })
})
