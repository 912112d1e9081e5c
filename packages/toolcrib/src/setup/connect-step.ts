import { ClientProfiles } from '@toolcrib/mcp/clients'
import pc from 'picocolors'
import { connectClients, planClients, showClientChange, showConnected } from '../clients/client-changes.ts'
import { clientPlace, stdioGateway } from '../clients/client-place.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { plural } from '../terminal/text.ts'
import type { ServerCheck } from './check-servers.ts'
import { describeFigures, describeViews, type Program } from './programs.ts'
import type { Questions } from './questions.ts'

/** The step of the set-up in which programs begin to use the gateway, and what each saves by it. */
export class ConnectStep {
  readonly #terminal: Terminal
  readonly #questions: Questions
  readonly #config: string

  constructor(terminal: Terminal, questions: Questions, config: string) {
    this.#terminal = terminal
    this.#questions = questions
    this.#config = config
  }

  /** Returns the programs that use the gateway now, and whether those that are new to it see every server. */
  async connect(
    programs: readonly Program[],
  ): Promise<{ readonly connected: readonly Program[]; readonly isEverything: boolean }> {
    const terminal = this.#terminal
    const connected = programs.filter(({ client }) => client.isConnected)
    const open = programs.filter(({ client }) => !client.isConnected)
    const none = { connected, isEverything: false }
    if (open.length === 0) {
      terminal.say(
        connected.length > 0
          ? 'your programs are connected already; see them with "toolcrib connect"'
          : 'no program was found that could use the gateway; see which are known with "toolcrib connect"',
      )
      return none
    }
    // A program without servers would gain all of them.
    const hasOwn = programs.some(({ isEmpty }) => !isEmpty)
    const choices = open.map(({ client: { client, title, path }, isEmpty }) => ({
      value: client,
      label: title,
      hint: isEmpty ? 'has no servers, would get all' : path,
      isChosen: !(isEmpty && hasOwn),
    }))
    const names = await this.#questions.choose('Which programs should use the gateway?', choices)
    const chosen = open.filter(({ client }) => names.includes(client.client))
    if (chosen.length === 0) {
      terminal.say('no program was changed; do it later with "toolcrib connect"')
      return none
    }
    const answer = await this.#askViews(chosen)
    if (answer === 'n') {
      terminal.say('nothing was written; do it later with "toolcrib connect"')
      return none
    }
    const { profiles, changes } = await this.#plan(chosen, answer)
    if (changes.length === 0) return none
    await profiles.save()
    await connectClients(terminal, changes)
    showConnected(terminal, changes)
    const added = chosen.filter(({ client }) => changes.some((change) => change.client === client.client))
    return { connected: [...connected, ...added], isEverything: answer === 'a' }
  }

  /** Asks what each program shall see; its config is shown when the user wants to see it. */
  async #askViews(chosen: readonly Program[]): Promise<string> {
    const terminal = this.#terminal
    const { all } = await ClientProfiles.open(this.#config, clientPlace(terminal))
    terminal.say('\nEach program keeps the servers it had:')
    for (const line of describeViews(chosen, all.length)) terminal.say(line)
    const isNarrow = chosen.some(({ servers }) => servers.length < all.length)
    const files = plural(chosen.length, 'config')
    const ask = (isShown: boolean) =>
      this.#questions.pick(`Write this to ${files}?`, [
        { value: 'y', label: 'yes' },
        ...(isNarrow
          ? [{ value: 'a', label: `yes, but show all ${all.length} servers in every program` }]
          : []),
        ...(isShown ? [] : [{ value: 'd', label: 'show the changes first' }]),
        { value: 'n', label: 'no' },
      ])
    const answer = await ask(false)
    if (answer !== 'd') return answer
    for (const change of (await this.#plan(chosen, 'y')).changes) showClientChange(terminal, change)
    return ask(true)
  }

  async #plan(chosen: readonly Program[], answer: string) {
    const terminal = this.#terminal
    const place = clientPlace(terminal)
    const profiles = await ClientProfiles.open(this.#config, place)
    const clients = chosen.map(({ client }) => client)
    const doorOf = (profile: string | undefined) => stdioGateway(terminal, this.#config, profile)
    const plan = { place, profiles, doorOf, isEverything: answer === 'a' }
    return { profiles, changes: await planClients(terminal, clients, plan) }
  }

  showFigures(programs: readonly Program[], check: ServerCheck, isEverything: boolean): void {
    if (programs.length === 0) return
    const terminal = this.#terminal
    terminal.say('\nTool definitions that a model reads with each request, before → now:')
    for (const line of describeFigures(programs, check, isEverything)) terminal.say(line)
    terminal.say(pc.dim('  if a program sends all of its tools: some hold back a part themselves'))
  }
}
