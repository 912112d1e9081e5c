import { readFile } from 'node:fs/promises'
import { ToolcribError } from '@toolcrib/core'
import type { Replay } from '@toolcrib/scripts'
import pc from 'picocolors'
import { openEngine } from '../config/open-scripts.ts'
import { SavedScripts } from '../config/saved-scripts.ts'
import { openStores } from '../serve/open-stores.ts'
import { findWithFlags } from '../servers/with-registry.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { cut, plain } from '../terminal/text.ts'
import { UsageError } from '../terminal/usage-error.ts'

export interface ScriptFlags {
  readonly code?: string
  readonly description?: string
  readonly input?: string
  readonly store?: string
  readonly config?: string
  readonly json?: boolean
}

/** Replays a recorded script, or saves one as a tool. */
export async function runScript(
  terminal: Terminal,
  [action, what, run]: readonly string[],
  flags: ScriptFlags,
): Promise<number> {
  if ((action !== 'replay' && action !== 'save') || what === undefined)
    throw new UsageError('"script" takes "replay RUN" or "save NAME [RUN]"')
  const { config } = await findWithFlags(terminal, flags)
  const stores = await openStores(flags.store, terminal)
  const engine = await openEngine(config, terminal.env, stores.store)
  try {
    if (action === 'save') {
      const code = run === undefined ? undefined : ((await engine.sourceOf(run)) ?? unknown(run))
      const saved = await SavedScripts.of(config).save(what, { ...flags, code })
      if (flags.json) terminal.printJson(saved)
      else
        terminal.say(
          `${pc.green('saved')} ${plain(what)}: ${plain(saved.file)}\n${saved.isInConfig ? `${plain(saved.config)} has its hash; restart the gateway to use it` : `add this to ${plain(saved.config)}:\n${saved.lines}`}`,
        )
      return 0
    }
    const code = flags.code === undefined ? undefined : await readFile(flags.code, 'utf8')
    const replayed = (await engine.replay(what, code)) ?? unknown(what)
    if (flags.json) terminal.printJson(replayed)
    else show(terminal, replayed)
    return replayed.divergence === undefined ? 0 : 1
  } finally {
    await engine.close()
    await stores.close()
  }
}

function unknown(run: string): never {
  throw new ToolcribError(
    'source-unavailable',
    `there is no recorded run "${plain(run)}": runs are kept for a day, in the store of the gateway, under its key`,
  )
}

function show(terminal: Terminal, { calls, printed, end, divergence }: Replay): void {
  for (const { n, path, args, given } of calls) {
    const mark = given.kind === 'failure' ? pc.red('✗') : pc.green('✓')
    terminal.say(`${mark} ${pc.dim(String(n))} ${plain(path)} ${plain(cut(args, 80))}`)
    terminal.say(pc.dim(`    ${plain(cut(given.text, 120))}`))
  }
  for (const line of printed) terminal.say(`${pc.dim('printed')} ${plain(line)}`)
  if (end)
    terminal.say(`${end.kind === 'returned' ? pc.green('returned') : pc.red('threw')} ${plain(end.text)}`)
  if (divergence !== undefined) terminal.say(`${pc.yellow('differs')} ${plain(divergence)}`)
}
