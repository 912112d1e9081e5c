import type { ClientConnection } from '../inspector-options.ts'

/** Builds commands with one config file of the gateway: for a terminal as a person types them, or for other programs. */
export class CommandLine {
  readonly #typed: string
  readonly #program: readonly string[]
  readonly #config: readonly string[]
  readonly #isWindows: boolean

  constructor(connection: ClientConnection | undefined, config: string | undefined) {
    const door = connection?.door
    const args = door?.kind === 'stdio' ? door.args : []
    const command = args.lastIndexOf('serve')
    const option = args.indexOf('--config')
    this.#program =
      door?.kind === 'stdio' && command >= 0 ? [door.command, ...args.slice(0, command)] : ['toolcrib']
    this.#typed = connection?.program ?? 'toolcrib'
    const path = config ?? (option < 0 ? undefined : args[option + 1])
    this.#config = path === undefined ? [] : ['--config', path]
    this.#isWindows = connection?.platform === 'win32'
  }

  /** What a person types, such as `toolcrib lock --config team/toolcrib.toml`. */
  of(...words: readonly string[]): string {
    return [this.#typed, this.#joined([...words, ...this.#config])].join(' ')
  }

  /** What another program runs, regardless of its PATH and folder. */
  forPrograms(...words: readonly string[]): string {
    return this.#joined([...this.#program, ...words, ...this.#config])
  }

  #joined(words: readonly string[]): string {
    return words.map((word) => this.#quoted(word)).join(' ')
  }

  #quoted(word: string): string {
    if (/^[\w@%+=:,./-]+$/.test(word)) return word
    if (this.#isWindows) return /[\s"&|<>^]/.test(word) ? `"${word.replaceAll('"', '""')}"` : word
    return `'${word.replaceAll("'", `'\\''`)}'`
  }
}
