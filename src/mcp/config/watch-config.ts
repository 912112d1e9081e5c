import { watch as watchOfChokidar } from 'chokidar'
import { describeError } from '../../errors.ts'
import { canonicalJson } from '../../json.ts'
import { type Config, configPaths, type LoadOptions, loadConfig } from './load-config.ts'

/** Where config is looked for, and what is called when it changes. */
export interface WatchOptions extends LoadOptions {
  /** Called with each new valid config. */
  readonly onChange: (config: Config) => void
  /** Called for an invalid config, or a file that is only half written; the last valid config stays in use. */
  readonly onError: (error: unknown) => void
  /** How long files must rest before they are read; 150. */
  readonly settleMs?: number
}

/**
 * Reads the config once the watch stands, and whenever one of its files appears, changes or goes; calls `onChange`
 * when it differs from the last one. Returns a function that stops watching.
 */
export function watchConfig({
  onChange,
  onError,
  settleMs = 150,
  ...options
}: WatchOptions): () => Promise<void> {
  const watcher = watchOfChokidar(configPaths(options), { ignoreInitial: true })
  const timers = new Set<ReturnType<typeof setTimeout>>()
  let turn = 0
  let isClosed = false
  let told: string | undefined
  const tell = (own: number, text: string, action: () => void) => {
    // A slower read of older files must not undo a newer one, and nobody needs to hear a thing twice.
    if (own !== turn || isClosed || text === told) return
    told = text
    action()
  }
  const reload = async () => {
    const own = ++turn
    try {
      const config = await loadConfig(options)
      tell(own, canonicalJson(config), () => onChange(config))
    } catch (error) {
      tell(own, describeError(error), () => onError(error))
    }
  }
  const reloadIn = (delayMs: number) => {
    const timer = setTimeout(() => {
      timers.delete(timer)
      void reload()
    }, delayMs)
    timers.add(timer)
  }
  // What changed before the watch stood is found by reading once more.
  watcher.on('ready', reload)
  watcher.on('all', () => {
    for (const timer of timers) clearTimeout(timer)
    timers.clear()
    reloadIn(settleMs)
    // The watcher leaves out changes that follow one another too closely.
    reloadIn(settleMs + CONFIRM_MS)
  })
  watcher.on('error', onError)
  return async () => {
    isClosed = true
    for (const timer of timers) clearTimeout(timer)
    await watcher.close()
  }
}

const CONFIRM_MS = 500
