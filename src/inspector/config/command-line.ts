import type { ClientConnection } from '../inspector-options.ts'

/** Builds commands for a terminal, with the program that started the gateway, and with one of its config files. */
export class CommandLine {
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
    const path = config ?? (option < 0 ? undefined : args[option + 1])
    this.#config = path === undefined ? [] : ['--config', path]
    this.#isWindows = connection?.platform === 'win32'
  }

  /** Returns a command with these words, such as `toolcrib lock --config team/toolcrib.toml`. */
  of(...words: readonly string[]): string {
    return [...this.#program, ...words, ...this.#config].map((word) => this.#quoted(word)).join(' ')
  }

  #quoted(word: string): string {
    if (/^[\w@%+=:,./-]+$/.test(word)) return word
    if (this.#isWindows) return /[\s"&|<>^]/.test(word) ? `"${word.replaceAll('"', '""')}"` : word
    return `'${word.replaceAll("'", `'\\''`)}'`
  }
}
