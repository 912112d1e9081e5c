import { type ServerStatus, ToolRegistry } from '@toolcrib/core'
import { expect, test } from 'vitest'
import { ServerLog } from './server-log.ts'

type State = ServerStatus['state']

/** The log of a server that went through these states. */
function after(...states: readonly State[]) {
  let tell: Parameters<ToolRegistry['subscribe']>[0] = () => {}
  const registry = Object.assign(new ToolRegistry(), {
    subscribe: (listener: typeof tell) => {
      tell = listener
      return () => {}
    },
  })
  const log = new ServerLog(registry)
  for (const [at, state] of states.entries()) tell({ type: 'server-state', server: 'files', state, at })
  return log.of('files')
}

const START: readonly State[] = ['connecting', 'ready']

test('a server that was asleep and wakes up is not restarted', () => {
  expect(after('cold', ...START, 'cold', ...START)).toMatchObject({ starts: 2, restarts: 0 })
})

test('one that starts again while it runs, or after it failed, is', () => {
  expect(after(...START, ...START)).toMatchObject({ starts: 2, restarts: 1 })
  expect(after(...START, 'failed', ...START, 'cold', ...START)).toMatchObject({ starts: 3, restarts: 1 })
})
