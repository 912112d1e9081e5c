import { appendFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import type { Store, ToolResult } from '@toolcrib/core'
import { redisStore } from '@toolcrib/mcp/redis'
import { fileStore } from '@toolcrib/mcp/stores'
import { scripts } from '@toolcrib/scripts'
import type { ScriptCall, ScriptHost } from '../../packages/scripts/src/script-host.ts'

// One owner of a script, which run.ts may kill at any moment: runs the script, or continues it, until it is over. Whoever
// owns it sends the same code again.
const [run = '', world = '', where = ''] = process.argv.slice(2)
const store: Store = where.startsWith('redis:') ? redisStore({ url: where }) : fileStore({ directory: where })
const limits = { leaseMs: 400, wallMs: 3_000 }
const engine = scripts({ store, key: new Uint8Array(32).fill(5), limits })

/** Every write is a line in the world, and takes a moment. */
class World implements ScriptHost {
  readonly sessionId = run
  readonly isDryRun = false
  readonly isTransient = false
  readonly signal = new AbortController().signal

  resolve(path: string) {
    const name = path.split('.').at(-1) ?? ''
    return { name, description: name, types: () => name, isReadOnly: name === 'read', fingerprint: '1' }
  }

  asks(name: string): boolean {
    return name === 'asked'
  }

  async call({ name, args }: ScriptCall, { isGranted }: { readonly isGranted: boolean }) {
    if (this.asks(name) && !isGranted) return { isHeld: true } as const
    const { id } = args as { readonly id: string }
    await setTimeout(Math.random() * 6)
    if (name !== 'read') appendFileSync(world, `${id}\n`)
    await setTimeout(Math.random() * 6)
    return { isHeld: false, result: { ok: true, value: id } as ToolResult } as const
  }

  async ask(calls: readonly ScriptCall[]) {
    return calls.map(() => 'once' as const)
  }

  async search() {
    return []
  }

  emit() {}
}

// The first write runs before the first pause.
const CODE = `const done = [await tools.free({ id: 'a' })]
done.push(...(await Promise.all([tools.asked({ id: 'b' }), tools.read({ id: 'r' }), tools.asked({ id: 'c' })])))
for (const id of ['d', 'e']) done.push(await tools.free({ id }))
await tools.read({ id: 'r' })
done.push(...(await Promise.all([tools.asked({ id: 'f' }), tools.free({ id: 'g' })])))
return done.filter((id) => id !== 'r').join('')`

process.send?.('ready')
for (;;) {
  const result = await engine.runs.run({ code: CODE, toolCallId: '1' }, new World())
  // Another owner has it, or died and its lease still lasts.
  if (!result.ok && result.error.includes('another process')) await setTimeout(20)
  else {
    await new Promise<void>((resolve) => process.send?.(result, () => resolve()))
    process.exit()
  }
}
