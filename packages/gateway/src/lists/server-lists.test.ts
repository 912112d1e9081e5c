import type { ServerStatus } from '@toolcrib/core'
import type { ListKind, ServerInfo, ServerNotification } from '@toolcrib/mcp'
import { beforeEach, describe, expect, it } from 'vitest'
import { ServerLists } from './server-lists.ts'

const EVERYTHING = { view: { profile: undefined, permitsServer: () => true } }

describe('prompts and resources of several servers', () => {
  let answers: Record<string, () => Promise<readonly string[]>>
  let asked: string[]
  let warnings: string[]
  let notified: ServerNotification[]
  let timers: (() => void)[]
  let lists: ServerLists
  beforeEach(() => {
    answers = { quick: async () => ['hello'] }
    asked = []
    warnings = []
    notified = []
    timers = []
    const servers = {
      status: () => Object.keys(answers).map((server): ServerStatus => ({ server, state: 'ready' })),
      info: (): ServerInfo => ({
        era: 'legacy',
        protocolVersion: '2025-06-18',
        capabilities: { prompts: {} },
      }),
      list: async (server: string, kind: ListKind) => {
        asked.push(`${server} ${kind}`)
        const names = (await answers[server]?.()) ?? []
        return { items: names.map((name) => ({ kind, key: name, listed: { name } })) }
      },
    }
    const traffic = { connectionOf: async () => undefined, hold: () => () => {} }
    lists = new ServerLists(servers, traffic, (warning) => warnings.push(warning), {
      limits: { listWaitMs: 3_000 },
      schedule: (_delayMs, fire) => {
        timers.push(fire)
        return () => {}
      },
      watchers: { notified: (notification) => notified.push(notification) },
    })
  })

  const namesOf = (listed: Awaited<ReturnType<ServerLists['collect']>>) => listed.map(({ key }) => key)
  const steps = () => new Promise((resolve) => setImmediate(resolve))
  /** A list during which the time is up. */
  const listTooLate = async () => {
    const listing = lists.collect('prompts', EVERYTHING)
    await steps()
    for (const fire of timers.splice(0)) fire()
    return namesOf(await listing)
  }

  it('are listed without a server that takes long, which later lists do not wait for', async () => {
    let arrive = (_names: readonly string[]) => {}
    answers.slow = () =>
      new Promise((resolve) => {
        arrive = resolve
      })
    expect(await listTooLate()).toEqual(['hello'])
    expect(namesOf(await lists.collect('prompts', EVERYTHING))).toEqual(['hello'])
    expect(asked.filter((each) => each.startsWith('slow'))).toHaveLength(1)
    // Clients learn of what came after their list.
    arrive(['late'])
    await steps()
    expect(notified).toEqual([{ server: 'slow', method: 'notifications/prompts/list_changed' }])
    expect(namesOf(lists.known('prompts', EVERYTHING))).toEqual(['hello', 'late'])
  })

  /** Lists, and lists again after every notification, as clients do, while the server answers too late each time. */
  const followNotifications = async (arrive: () => void) => {
    await listTooLate()
    let seen = 0
    for (let round = 0; round < 20; round++) {
      arrive()
      await steps()
      if (notified.length === seen) continue
      seen = notified.length
      await listTooLate()
    }
  }

  it('of a server that is always slow cause one notification', async () => {
    let arrive = (_names: readonly string[]) => {}
    answers.slow = () =>
      new Promise((resolve) => {
        arrive = resolve
      })
    await followNotifications(() => arrive(['same']))
    expect(notified).toHaveLength(1)
    expect(asked.filter((each) => each.startsWith('slow'))).toHaveLength(2)
    expect(namesOf(lists.known('prompts', EVERYTHING))).toEqual(['hello', 'same'])
  })

  it('of a server that always fails late cause no notification', async () => {
    let fail = (_error: Error) => {}
    answers.slow = () =>
      new Promise((_resolve, reject) => {
        fail = reject
      })
    await followNotifications(() => fail(new Error('timeout')))
    expect(notified).toEqual([])
    expect(asked.filter((each) => each.startsWith('slow'))).toHaveLength(1)
  })

  it('are awaited again once they arrived in time', async () => {
    let arrive = (_names: readonly string[]) => {}
    answers.slow = () =>
      new Promise((resolve) => {
        arrive = resolve
      })
    await listTooLate()
    arrive(['old'])
    await steps()
    answers.slow = async () => ['new']
    expect(namesOf(await lists.collect('prompts', EVERYTHING))).toEqual(['hello', 'old'])
    await steps()
    expect(notified).toHaveLength(2)
    answers.slow = async () => ['newest']
    expect(namesOf(await lists.collect('prompts', EVERYTHING))).toEqual(['hello', 'newest'])
  })

  it('that arrive late do not replace those of a newer refresh', async () => {
    let arrive = (_names: readonly string[]) => {}
    answers.slow = () =>
      new Promise((resolve) => {
        arrive = resolve
      })
    await listTooLate()
    answers.slow = async () => ['newer']
    await lists.refresh(['prompts'], EVERYTHING)
    arrive(['older'])
    await steps()
    expect(namesOf(lists.known('prompts', EVERYTHING))).toEqual(['hello', 'newer'])
    expect(notified).toHaveLength(1)
  })

  it('stay as they were while their server fails', async () => {
    expect(namesOf(await lists.collect('prompts', EVERYTHING))).toEqual(['hello'])
    answers.quick = async () => {
      throw new Error('out of order')
    }
    expect(namesOf(await lists.collect('prompts', EVERYTHING))).toEqual(['hello'])
    expect(warnings).toEqual(['out of order'])
  })

  it('are looked for at every server, however long it takes', async () => {
    let arrive = (_names: readonly string[]) => {}
    answers.slow = () =>
      new Promise((resolve) => {
        arrive = resolve
      })
    const looking = lists.refresh(['prompts'], EVERYTHING)
    await steps()
    for (const fire of timers.splice(0)) fire()
    arrive(['late'])
    await looking
    expect(namesOf(lists.known('prompts', EVERYTHING))).toEqual(['hello', 'late'])
  })
})
