import { expect, it, onTestFinished } from 'vitest'
import { openScene } from './scenes.ts'

it('ranks as a config without a searcher does', async () => {
  const nowhere = { from: 'file:///nowhere/', cwd: '/nowhere', env: {}, schedule: () => () => {} }
  const { kind, registry, close } = await openScene({}, nowhere)
  onTestFinished(close)
  expect(kind).toBe('demo')
  expect(registry.searcher.name).toBe('hybrid')
})
