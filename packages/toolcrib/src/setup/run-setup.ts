import { join } from 'node:path'
import { ToolcribError } from '@toolcrib/core'
import { configDirectory } from '@toolcrib/mcp'
import {
  type ConnectableClient,
  connectableClients,
  type ImportOptions,
  type ImportOutcome,
  importServers,
  missingVariables,
  ServersFile,
} from '@toolcrib/mcp/clients'
import pc from 'picocolors'
import { clientPlace } from '../clients/client-place.ts'
import { saveVariables, withSavedVariables } from '../config/saved-variables.ts'
import { Terminal } from '../terminal/terminal.ts'
import { columns, figure, plain, plural } from '../terminal/text.ts'
import { checkServers, type ServerCheck } from './check-servers.ts'
import { ConnectStep } from './connect-step.ts'
import { canAsk, findPrograms, type Program, serverSets } from './programs.ts'
import { DefaultAnswers, Left, type Questions, TerminalQuestions } from './questions.ts'

export interface SetupFlags {
  readonly yes?: boolean
}

/** Copies the user's servers into one config, checks them, and connects clients to the gateway. */
export async function runSetup(
  terminal: Terminal,
  { yes = false }: SetupFlags,
  questions: Questions = yes ? new DefaultAnswers() : new TerminalQuestions(terminal),
): Promise<number> {
  const folder = configDirectory(terminal.env)
  if (folder === undefined) throw new ToolcribError('config-invalid', 'there is no config folder; set HOME')
  const setup = new Setup(terminal, questions, join(folder, 'toolcrib.toml'))
  if (!yes && !terminal.isInteractive) return setup.printSteps()
  try {
    return await setup.run()
  } catch (error) {
    if (!(error instanceof Left)) throw error
    terminal.say('cancelled; nothing else was changed')
    return 130
  }
}

class Setup {
  readonly #terminal: Terminal
  readonly #questions: Questions
  readonly #config: string
  /** Config files of programs that cannot be read; the servers in them are missing, so the user is told at the end. */
  #files: ImportOutcome['files'] = []

  constructor(terminal: Terminal, questions: Questions, config: string) {
    this.#terminal = terminal
    this.#questions = questions
    this.#config = config
  }

  async run(): Promise<number> {
    const terminal = this.#terminal
    terminal.say(`${pc.bold('toolcrib')} puts one gateway before all your MCP servers\n`)
    const isAny = await this.#takeServers()
    if (!isAny) {
      this.#noteProblems(this.#files)
      return 1
    }
    await this.#askVariables()
    const programs = await findPrograms(this.#config, clientPlace(terminal))
    const first = await this.#check(programs)
    const check = (await this.#askWanted(first)) ? await this.#check(programs) : first
    this.#showCheck(check)
    if (check.ready === 0) {
      terminal.say('no server is ready, so no program is changed; fix one, then run "toolcrib" again')
      return 1
    }
    const step = new ConnectStep(terminal, this.#questions, this.#config)
    const { connected, isEverything } = await step.connect(programs)
    step.showFigures(connected, check, isEverything)
    await this.#offerAsking(connected)
    this.#noteProblems(this.#files)
    terminal.say('\nnext: "toolcrib serve --open" shows on a page what they do')
    return 0
  }

  /** Prints the commands for each step. */
  async printSteps(): Promise<number> {
    const terminal = this.#terminal
    const { files, added, kept } = await importServers({ ...this.#import(), isDry: true })
    const have = kept.length === 0 ? '' : `; your config has ${plural(kept.length, 'server')} already`
    const takes =
      added.length === 0
        ? 'copies the servers of your programs; it finds no new ones'
        : `copies ${plural(added.length, 'new server')} of ${plural(files.length, 'program')}`
    const clients = (await connectableClients(clientPlace(terminal))).filter(isOfUser)
    const left = clients.filter(({ isConnected }) => !isConnected).length
    const connects =
      left === 0 && clients.length > 0
        ? `${plural(clients.length, 'program uses', 'programs use')} the gateway already`
        : `lets ${left === 0 ? 'your programs' : plural(left, 'program')} use the gateway`
    terminal.say(`${pc.bold('toolcrib')} puts one gateway before all your MCP servers. Step by step:`)
    const steps = [
      ['"toolcrib import --user"', `${takes}${have}`],
      ['"toolcrib doctor"', 'checks them'],
      // Without a terminal, nobody can be asked.
      ['"toolcrib connect --all --yes"', connects],
      ['"toolcrib serve"', 'shares the servers between them, with a page'],
    ]
    const rows = steps.map(([command = '', what = '']) => [terminal.hinted(command), what])
    for (const [at, line] of columns(rows).entries()) terminal.say(`  ${at + 1}. ${line}`)
    terminal.say('All at once: "toolcrib setup --yes". Every command: "toolcrib --help".')
    this.#noteProblems(files)
    return 0
  }

  #import(): ImportOptions {
    return { ...clientPlace(this.#terminal), clients: [], target: this.#config, isDry: false, isOfUser: true }
  }

  async #takeServers(): Promise<boolean> {
    const terminal = this.#terminal
    const planned = await importServers({ ...this.#import(), isDry: true })
    const { files, added, kept, looked, leftOut } = planned
    const programs = new Set(files.flatMap(({ title, problem }) => (problem === undefined ? [title] : [])))
    const total = added.length + kept.length
    this.#files = files
    if (leftOut.length > 0)
      terminal.say(pc.dim(`the servers of this project stay with it: ${[...new Set(leftOut)].join(', ')}`))
    if (total === 0) {
      terminal.say(
        `no MCP servers were found in ${plural(looked.length, 'file')} where other programs keep theirs`,
      )
      terminal.say('add one with "toolcrib add files -- npx -y @modelcontextprotocol/server-filesystem ."')
      terminal.say('or see what toolcrib does first, with "toolcrib tour"')
      return false
    }
    const have = kept.length > 0 ? `, and ${plural(kept.length, 'server')} in your config` : ''
    if (added.length === 0) {
      terminal.say(
        `${pc.bold(plural(kept.length, 'server'))} in your config, and no new ones in other programs`,
      )
      return true
    }
    terminal.say(
      `${pc.bold(plural(added.length, 'new server'))} in ${plural(programs.size, 'program')} (${[...programs].join(', ')})${have}`,
    )
    for (const line of originsOf(planned)) terminal.say(line)
    this.#warnOfSecrets(planned)
    if (await this.#questions.confirm(`Copy ${plural(added.length, 'server')} into ${this.#config}?`)) {
      await importServers(this.#import())
      terminal.say(`${pc.green('added')} ${added.map(plain).join(', ')}`)
      return true
    }
    terminal.say('no server was copied; do it later with "toolcrib import --user"')
    return kept.length > 0
  }

  /** Warns, before anything is written, that secrets are copied and that git would see them. */
  #warnOfSecrets({ secrets, repository }: ImportOutcome): void {
    if (secrets.length === 0) return
    const servers = secrets.map(({ server }) => plain(server)).join(', ')
    const where =
      repository === undefined ? 'a file that only you can read' : `the git repository ${repository}`
    this.#terminal.say(
      `${pc.yellow('note')} the secrets in the entries of ${servers} are copied too, into ${where}`,
    )
  }

  /** The servers of a config that cannot be read are missing, so the user is told. */
  #noteProblems(files: ImportOutcome['files']): void {
    for (const { title, path, problem } of files)
      if (problem !== undefined)
        this.#terminal.say(`${pc.yellow('note')} ${title} (${path}): ${plain(problem)}`)
  }

  /** A variable without a value stays missing; its server is then among the broken ones. */
  async #askVariables(): Promise<void> {
    const servers = (await ServersFile.open(this.#config)).servers()
    const inUse = new Map([...servers].filter(([, { disabled }]) => !disabled))
    const values: Record<string, string> = {}
    for (const { name, servers: users } of missingVariables(inUse, this.#terminal.env)) {
      const value = await this.#questions.secret(
        `${name} for ${users.map(plain).join(', ')} (empty: skip it)`,
      )
      if (value !== '') values[name] = value
    }
    await saveVariables(this.#terminal.env, values)
  }

  /**
   * Handles variables that a server asked for during the check: the config passes them on to the server. A variable
   * that already has a value is passed on only if the user agrees, because a server can ask for anything. Returns
   * whether any was passed on.
   */
  async #askWanted({ broken }: ServerCheck): Promise<boolean> {
    const file = await ServersFile.open(this.#config)
    const known = withSavedVariables(this.#terminal.env)
    const given: Record<string, string> = {}
    let isAny = false
    for (const { server, wants = [] } of broken)
      for (const name of wants) {
        const title = plain(server)
        if ((given[name] ?? known[name]) !== undefined) {
          const question = `${title} asks for ${name}, which has a value; pass it on to ${title}?`
          if (!(await this.#questions.allow(question))) continue
        } else {
          const value = await this.#questions.secret(`${name}, which ${title} asks for (empty: skip it)`)
          if (value === '') continue
          given[name] = value
        }
        file.setVariable(server, name, `\${${name}}`)
        isAny = true
      }
    await saveVariables(this.#terminal.env, given)
    await file.save()
    return isAny
  }

  async #check(programs: readonly Program[]): Promise<ServerCheck> {
    const env = withSavedVariables(this.#terminal.env)
    const { input, output, errors, cwd, signals, program, schedule, patienceMs } = this.#terminal
    const place = new Terminal({ input, output, errors, cwd, signals, program, schedule, patienceMs, env })
    return checkServers(place, this.#config, serverSets(programs))
  }

  /** Some programs cannot show the gateway's question: a person then answers on the page or at a terminal. */
  async #offerAsking(programs: readonly Program[]): Promise<void> {
    const file = await ServersFile.open(this.#config)
    if (programs.length === 0 || file.asks) return
    const mute = programs.flatMap(({ client }) => (canAsk(client) ? [] : [plain(client.title)]))
    const where =
      mute.length === 0
        ? ''
        : `; ${mute.join(', ')} cannot, so you answer on the page or with "toolcrib approve-call"`
    this.#terminal.say(
      pc.dim(
        `\nthe gateway can ask you before a tool runs that deletes or changes things, as it says or as its name does${where}`,
      ),
    )
    const question = 'Ask before tools that delete or change things?'
    if (!(await (mute.length > 0 ? this.#questions.confirm(question) : this.#questions.allow(question))))
      return
    file.addAsk('changes')
    await file.save()
    this.#terminal.say(`${pc.green('added')} ask = ["changes"] to ${this.#config}`)
  }

  #showCheck(check: ServerCheck): void {
    const terminal = this.#terminal
    const ready = pc.bold(`${figure(check.ready)} of ${plural(check.servers, 'server')} ready`)
    terminal.say(`\n${ready}: ${plural(check.tools, 'tool')}`)
    const rows = check.broken.map(({ server, fault, step }) => [pc.bold(plain(server)), `${fault}; ${step}`])
    for (const row of columns(rows)) terminal.say(`  ${pc.red('✗')} ${row}`)
    if (check.broken.length > 0)
      terminal.say(pc.dim('  the gateway works without these, and picks them up once they start'))
    if (check.broken.some(({ step }) => step.startsWith('set ')))
      terminal.say(pc.dim('  "toolcrib" asks for variables without a value each time you run it'))
  }
}

/** Each new server, and the programs that have it. */
function originsOf({ files, added }: ImportOutcome): string[] {
  const titles = new Map<string, Set<string>>(added.map((name) => [name, new Set()]))
  for (const { title, servers } of files) for (const { as = '' } of servers) titles.get(as)?.add(title)
  return columns([...titles].map(([name, from]) => [`  ${pc.cyan(plain(name))}`, [...from].join(', ')]))
}

/** Whether it is on this machine, with a config that belongs only to the user. */
function isOfUser({ isThere, isOfProject }: ConnectableClient): boolean {
  return isThere && !isOfProject
}
