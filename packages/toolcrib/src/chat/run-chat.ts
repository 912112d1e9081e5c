import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { CallResult, Session } from '@toolcrib/core'
import { type AgentEvent, type AgentResult, agentTool, Ledger, type Prices } from '@toolcrib/core/agent'
import { describeError } from '@toolcrib/core/internal'
import { configDirectory } from '@toolcrib/mcp'
import { loadAgents } from '@toolcrib/mcp/agent-files'
import pc from 'picocolors'
import { mendServer } from '../servers/mend-server.ts'
import type { SignalSource, Terminal } from '../terminal/terminal.ts'
import { wrap } from '../terminal/text.ts'
import { UsageError } from '../terminal/usage-error.ts'
import { approval } from './approval.ts'
import { type ChatTools, openChatTools, type ToolSources } from './chat-tools.ts'
import { chooseModel, type Environment, type ModelChoice } from './choose-model.ts'
import { Conversation } from './conversation.ts'
import { keepLine, LineReader, readHistory } from './line-reader.ts'
import { oneLine } from './printable.ts'
import { EventPrinter } from './show-events.ts'
import { runSlashCommand } from './slash-commands.ts'
import { TurnControl } from './turn-control.ts'

export interface ChatOptions extends ModelChoice, ToolSources {
  readonly system?: string
  /** Send this, print the answer, and exit. */
  readonly prompt?: string
  /** Print only the answer to `prompt`, as JSON. */
  readonly json?: boolean
  /** Run every tool without asking. */
  readonly yes?: boolean
  readonly maxIterations?: number
  /** What the chat may cost, in dollars and in tokens. */
  readonly maxCost?: number
  readonly maxTokens?: number
  /** Dollars per million tokens of the model. */
  readonly price?: Prices
  /** A folder of agents in Markdown. Default: `.toolcrib/agents`. */
  readonly agents?: string
}

/** The calls of an agent need approval themselves. */
const TRUSTED: ReadonlySet<string> = new Set(['agent'])

/** Runs a chat until the user exits, and returns the exit code. */
export async function runChat(terminal: Terminal, options: ChatOptions): Promise<number> {
  const model = await chooseModel(options, terminal.env)
  const { agents: folder } = options
  if (folder !== undefined && !existsSync(resolve(terminal.cwd, folder)))
    throw new UsageError(`the folder --agents ${folder} does not exist`)
  const tools = await openChatTools(terminal, options)
  const turn = new TurnControl()
  const lines = await openLines(terminal, options, turn)
  const stopListening = listen(terminal.signals, {
    interrupt: () => interrupt(terminal, turn, lines),
    // Exits cleanly, so that no server is left running.
    terminate: () => {
      turn.cancel()
      lines?.close()
    },
  })
  let session: Session | undefined
  try {
    const { policy } = tools.registry
    // Whatever may change something, besides what the config names.
    session = await tools.registry.openSession({
      dialect: model.dialect,
      policy: { ...policy, ask: ['writes'] },
    })
    const write = (text: string) => void terminal.output.write(options.json ? '' : text)
    const width = terminal.output.isTTY ? terminal.width : undefined
    const printer = new EventPrinter(write, session.id, width)
    const refused: RefusedCall[] = []
    const shared = {
      ledger: new Ledger({
        ...(options.maxCost === undefined ? {} : { maxCostUsd: options.maxCost }),
        ...(options.maxTokens === undefined ? {} : { maxTokens: options.maxTokens }),
      }),
      ...(options.price === undefined ? {} : { prices: options.price }),
      onEvent: (event: AgentEvent) => {
        printer.show(event)
        if (event.type === 'called') refused.push(...refusedCalls(event.results))
      },
      ...(options.maxIterations === undefined ? {} : { maxIterations: options.maxIterations }),
    }
    const onAsk = options.yes
      ? () => 'once' as const
      : approval({
          registry: tools.registry,
          trusted: TRUSTED,
          alwaysAllowed: tools.alwaysAllowed,
          ask: async (question) => {
            printer.endLine()
            return lines?.askAfterPrompt(question, turn.signal)
          },
        })
    const agents = await loadAgents(resolve(terminal.cwd, folder ?? '.toolcrib/agents'))
    if (agents.length > 0) tools.registry.register(agentTool({ ...shared, agents, model, session }))
    const { system } = options
    const conversation = new Conversation({
      ...shared,
      callContext: { onAsk },
      model,
      session,
      ...(system === undefined ? {} : { system }),
    })

    await connect(tools, (line) => write(`${terminal.fit(line)}\n`))
    if (options.prompt !== undefined) {
      const result = await turn.run((signal) => conversation.say(options.prompt ?? '', signal))
      printer.endLine()
      terminal.output.write(
        options.json
          ? `${JSON.stringify(toJson(result, refused), null, 2)}\n`
          : terminal.fit(describeStop(result)),
      )
      return result.stop === 'done' ? 0 : 1
    }
    write(pc.dim(`${oneLine(model.id)}, ${tools.registry.size} tools. Type /help for the commands.\n`))
    if (lines) await talk(conversation, { lines, turn, printer, write, terminal })
    return 0
  } finally {
    stopListening()
    lines?.close()
    await session?.close()
    await tools.close()
  }
}

/** Listens to process signals. Returns a function that stops listening. */
function listen(
  signals: SignalSource,
  { interrupt, terminate }: { interrupt(): void; terminate(): void },
): () => void {
  const listeners = { SIGINT: interrupt, SIGTERM: terminate, SIGHUP: terminate }
  for (const [signal, listener] of Object.entries(listeners)) signals.on(signal, listener)
  return () => {
    for (const [signal, listener] of Object.entries(listeners)) signals.off(signal, listener)
  }
}

interface Talk {
  readonly lines: LineReader
  readonly turn: TurnControl
  readonly printer: EventPrinter
  readonly terminal: Terminal
  write(text: string): void
}

async function talk(
  conversation: Conversation,
  { lines, turn, printer, write, terminal }: Talk,
): Promise<void> {
  const history = historyPath(terminal.env)
  for (;;) {
    const line = await lines.ask(pc.bold('› '))
    const text = line?.trim()
    if (text === undefined && lines.isInteractive) write('\n')
    if (text === undefined || text === '/exit' || text === '/quit') return
    turn.stay()
    if (text === '') continue
    if (history !== undefined && lines.isInteractive) await keepLine(history, text)
    if (text.startsWith('/')) {
      const answer = await runSlashCommand(text, conversation)
      write(`${terminal.output.isTTY ? wrap(answer, terminal.width) : answer}\n`)
      continue
    }
    const result = await turn.run((signal) => conversation.say(text, signal))
    printer.endLine()
    write(terminal.fit(describeStop(result)))
  }
}

/** Reads the user's messages and approvals; undefined when no one can be asked. */
async function openLines(
  terminal: Terminal,
  { prompt, json }: ChatOptions,
  turn: TurnControl,
): Promise<LineReader | undefined> {
  const { input, output, isInteractive, env } = terminal
  if (prompt !== undefined && (!isInteractive || json)) return undefined
  const path = historyPath(env)
  const lines: LineReader = new LineReader({
    input,
    output,
    isInteractive,
    history: isInteractive && path !== undefined ? await readHistory(path) : [],
    onInterrupt: () => interrupt(terminal, turn, lines),
  })
  return lines
}

function interrupt({ output }: Terminal, turn: TurnControl, lines: LineReader | undefined): void {
  const meaning = turn.interrupt()
  if (meaning === 'leave') lines?.close()
  if (meaning !== 'warned') return
  output.write(pc.dim('\n(press Ctrl-C again to leave)\n'))
  lines?.startOver()
}

/** Waits up to ten seconds for the servers; tools of slower ones become available later. */
async function connect({ servers, serverCount }: ChatTools, say: (line: string) => void): Promise<void> {
  if (serverCount === 0) return
  say(pc.dim(`Connecting to ${serverCount} server${serverCount === 1 ? '' : 's'}…`))
  const statuses = await servers.ready({ timeoutMs: 10_000 })
  for (const status of statuses) {
    if (status.state === 'failed')
      say(
        pc.yellow(`! ${oneLine(status.server)}: ${oneLine(mendServer(status.server, status.reason).fault)}`),
      )
    if (status.state === 'connecting')
      say(pc.dim(`… ${oneLine(status.server)} is still ${status.detail ?? 'connecting'}`))
  }
  if (statuses.some(({ state }) => state === 'failed')) say(pc.dim('  what to do: "toolcrib doctor"'))
}

/** The flags behind the limits of a run. */
const LIMIT_FLAGS = { maxCostUsd: '--max-cost', maxTokens: '--max-tokens' } as const

function describeStop({ stop, limit, error, refusal, iterations }: AgentResult): string {
  switch (stop) {
    case 'done':
      return ''
    case 'cancelled':
      return pc.dim('(stopped)\n')
    case 'length':
      return pc.dim('(the answer reached the token limit; type “continue”)\n')
    case 'limit':
      if (limit !== undefined && limit !== 'maxIterations')
        return pc.yellow(`Stopped: the limit of ${LIMIT_FLAGS[limit]} is used up.\n`)
      return pc.yellow(`Stopped after ${iterations} turns; type “continue” to continue.\n`)
    case 'refused':
      return pc.yellow(`The model refused. ${oneLine(refusal ?? '', 300)}\n`)
    case 'approval':
      return pc.yellow('Stopped: a call waits for approval.\n')
    case 'failed':
      return pc.red(`The request to the model failed: ${oneLine(describeError(error), 500)}\n`)
  }
}

/** A call that nobody approved. */
interface RefusedCall {
  readonly name: string
  readonly error: string
}

function refusedCalls(results: readonly CallResult[]): RefusedCall[] {
  return results.flatMap(({ name, result }) =>
    !result.ok && result.code === 'denied' ? [{ name, error: result.error }] : [],
  )
}

function toJson(
  { text, stop, limit, iterations, ledger, refusal, error }: AgentResult,
  refused: readonly RefusedCall[],
): object {
  return {
    text,
    stop,
    ...(limit === undefined ? {} : { limit }),
    iterations,
    ...(refused.length === 0 ? {} : { refusedCalls: refused }),
    ledger,
    ...(refusal === undefined ? {} : { refusal }),
    ...(error === undefined ? {} : { error: describeError(error) }),
  }
}

function historyPath(env: Environment): string | undefined {
  const directory = configDirectory(env)
  return directory === undefined ? undefined : join(directory, 'chat-history')
}
