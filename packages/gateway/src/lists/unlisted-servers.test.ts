import type { ServerStatus } from '@toolcrib/core'
import { expect, it } from 'vitest'
import { UnlistedServers } from './unlisted-servers.ts'

const EVERY = { permitsServer: () => true }

/** Servers that are starting, and never get any further. */
function hanging(...names: string[]) {
  const awaited: (readonly string[] | undefined)[] = []
  const servers = {
    status: () => names.map((server): ServerStatus => ({ server, state: 'connecting' })),
    tools: () => undefined,
    ready: async ({ servers: given }: { servers?: readonly string[] } = {}) => {
      awaited.push(given)
      return []
    },
  }
  return { names, awaited, unlisted: new UnlistedServers(servers, { listWaitMs: 3_000 }) }
}

it('a server that hangs delays one list, and not those after it', async () => {
  const { names, awaited, unlisted } = hanging('stuck')
  await unlisted.beforeList(EVERY)
  await unlisted.beforeList(EVERY)
  names.push('new')
  await unlisted.beforeList(EVERY)
  expect(awaited).toEqual([['stuck'], ['new']])
})

it('a server that was slow is awaited again when it restarts', async () => {
  const { names, awaited, unlisted } = hanging('slow')
  await unlisted.beforeList(EVERY)
  // It is listed, or its config is gone.
  names.pop()
  await unlisted.beforeList(EVERY)
  names.push('slow')
  await unlisted.beforeList(EVERY)
  expect(awaited).toEqual([['slow'], ['slow']])
})

it('a server that was slow is awaited again when it started between two lists', async () => {
  const { awaited, unlisted } = hanging('slow')
  await unlisted.beforeList(EVERY)
  unlisted.settled('slow')
  await unlisted.beforeList(EVERY)
  expect(awaited).toEqual([['slow'], ['slow']])
})

it('a list of another profile does not make a server that hangs awaited again', async () => {
  const { awaited, unlisted } = hanging('stuck')
  await unlisted.beforeList(EVERY)
  await unlisted.beforeList({ permitsServer: () => false })
  await unlisted.beforeList(EVERY)
  expect(awaited).toEqual([['stuck']])
})

it('a list waits for no server that its profile does not show', async () => {
  const { awaited, unlisted } = hanging('mine', 'theirs')
  await unlisted.beforeList({ permitsServer: (server) => server === 'mine' })
  expect(awaited).toEqual([['mine']])
})
