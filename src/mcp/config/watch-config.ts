import { watch as watchOfChokidar } from 'chokidar'
import { describeError } from '../../errors.ts'
import { canonicalJson } from '../../json.ts'
import { type Config, configPaths, type LoadOptions, loadConfig } from './load-config.ts'

/** Where to look for config, and what to call when it changes. */
export interface WatchOptions extends LoadOptions {
  /** Called with each new valid config. */
  readonly onChange: (config: Config) => void
  /** Called for an invalid config, including a partially written file; the last valid config stays in use. */
  readonly onError: (error: unknown) => void
  /** How long files must be unchanged before they are read. Default: 150 ms. */
  readonly settleMs?: number
}

/**
 * Reads the config once the watcher is ready, and whenever one of its files is created, changed or deleted. Calls
 * `onChange` when the config differs from the last one. Returns a function that stops watching.
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
    // A slow read of older files must not overwrite a newer one, and repeated results are not reported.
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
  // Reads once more to catch changes made before the watcher was ready.
  watcher.on('ready', reload)
  watcher.on('all', () => {
    for (const timer of timers) clearTimeout(timer)
    timers.clear()
    reloadIn(settleMs)
    // The watcher skips changes in quick succession, so read once more.
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
