import { watch as watchOfChokidar } from 'chokidar'
import { canonicalJson } from '../../json.ts'
import { type Config, configPaths, type LoadOptions, loadConfig } from './load-config.ts'

export interface WatchOptions extends LoadOptions {
  /** A new config that makes sense. */
  readonly onChange: (config: Config) => void
  /** A config that makes none, or is written only half as yet: what was good before stays. */
  readonly onError: (error: unknown) => void
  /** How long files must rest before they are read; 150. */
  readonly settleMs?: number
}

/**
 * Reads the config once the watch stands, and whenever one of its files appears, changes or goes; tells it when it
 * differs from what was told before. Answers how to stop.
 */
export function watchConfig({
  onChange,
  onError,
  settleMs = 150,
  ...options
}: WatchOptions): () => Promise<void> {
  const watcher = watchOfChokidar(configPaths(options), { ignoreInitial: true })
  let timer: ReturnType<typeof setTimeout> | undefined
  let turn = 0
  let isClosed = false
  let told: string | undefined
  const reload = async () => {
    const own = ++turn
    try {
      const config = await loadConfig(options)
      // A slower read of older files must not undo a newer one.
      if (own !== turn || isClosed) return
      const text = canonicalJson(config)
      if (text === told) return
      told = text
      onChange(config)
    } catch (error) {
      if (own === turn && !isClosed) onError(error)
    }
  }
  // What changed before the watch stood is found by reading once more.
  watcher.on('ready', reload)
  watcher.on('all', () => {
    clearTimeout(timer)
    timer = setTimeout(reload, settleMs)
  })
  watcher.on('error', onError)
  return async () => {
    isClosed = true
    clearTimeout(timer)
    await watcher.close()
  }
}
