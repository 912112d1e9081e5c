import { setImmediate } from 'node:timers/promises'
import { ToolRegistry } from '@toolcrib/core'
import { describe, expect, it } from 'vitest'
import { ReplicaDuties, type ReplicaDutiesOptions } from './replica-duties.ts'

/** A replica with one server, whose list is the name of one tool. */
class FakeReplica {
  readonly announced: string[] = []
  readonly warnings: string[] = []
  readonly duties: ReplicaDuties
  readonly #registry = new ToolRegistry()
  #tool = ''
  #settle = () => {}

  constructor(relay: () => Promise<void> = async () => {}) {
    const options = {
      registry: this.#registry,
      servers: { tools: () => [{ name: this.#tool }], refresh: async () => {}, status: () => [] },
      sessions: { take: relay, ended: relay },
      replicas: { listChanged: (_server: string, digest: string) => this.announced.push(digest) },
      schedule: (_ms: number, fire: () => void) => {
        this.#settle = fire
        return () => {}
      },
      log: { warn: (warning: string) => this.warnings.push(warning) },
    }
    this.duties = new ReplicaDuties(options as unknown as ReplicaDutiesOptions)
  }

  /** The server lists another tool; returns what was announced last. */
  lists(name: string): string | undefined {
    this.#tool = name
    const tool = { name, description: name, inputSchema: { type: 'object' }, execute: () => '' as never }
    this.#registry.syncMcp('rain', [tool])
    this.#settle()
    return this.announced.at(-1)
  }
}

describe('the duties of a replica', () => {
  it('announces each list once, and one that comes back again', () => {
    const other = new FakeReplica()
    const [before = '', after = ''] = [other.lists('before'), other.lists('after')]
    const replica = new FakeReplica()
    replica.lists('before')
    replica.duties.listChanged('rain', before)
    replica.announced.length = 0
    replica.lists('after')
    expect(replica.announced).toEqual([after])
    // The others have the list that was announced last, not the one that they announced before it.
    replica.lists('before')
    expect(replica.announced).toEqual([after, before])
    replica.duties.listChanged('rain', after)
    replica.lists('after')
    expect(replica.announced).toEqual([after, before])
  })

  it('survives a session that cannot be opened when a message for it arrives', async () => {
    const replica = new FakeReplica(() => Promise.reject(new Error('no such session')))
    replica.duties.take('one', { method: 'ping' })
    replica.duties.ended('one')
    await setImmediate()
    expect(replica.warnings).toEqual(['Error: no such session', 'Error: no such session'])
  })
})
