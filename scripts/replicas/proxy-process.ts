import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export type ProxyKind = 'nginx' | 'caddy'

const EXAMPLES = join(import.meta.dirname, '../../examples/replicas')

/** nginx or Caddy in front of gateways, with the config of examples/replicas; only ports and addresses are replaced. */
export class ProxyProcess {
  readonly url: string
  readonly #child: ChildProcess
  /** Where the program says what it does. */
  readonly log: string

  private constructor(url: string, child: ChildProcess, log: string) {
    this.url = url
    this.#child = child
    this.log = log
  }

  /** Starts a proxy before the gateways of these ports. Its files are in a folder of its own. Rejects when it does not start. */
  static async start(
    kind: ProxyKind,
    { port, gateways, folder }: { port: number; gateways: readonly number[]; folder: string },
  ): Promise<ProxyProcess> {
    mkdirSync(folder, { recursive: true })
    const [command, ...args] =
      kind === 'nginx' ? nginx(folder, port, gateways) : caddy(folder, port, gateways)
    const log = join(folder, 'log')
    const child = spawn(command, args, {
      env: { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const lines = createWriteStream(log)
    child.stdout.pipe(lines, { end: false })
    child.stderr.pipe(lines, { end: false })
    const failed = new Promise<never>((_resolve, reject) => {
      child.once('error', reject)
      child.once('exit', (code) => reject(new Error(`${kind} ended with ${code}; see ${log}`)))
    })
    failed.catch(() => {})
    const origin = `http://127.0.0.1:${port}`
    try {
      await Promise.race([answering(`${origin}/healthz`), failed])
    } catch (error) {
      child.kill('SIGKILL')
      throw error
    }
    return new ProxyProcess(`${origin}/mcp`, child, log)
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = once(this.#child, 'exit')
    this.#child.kill('SIGTERM')
    await ended
  }
}

type Words = readonly [command: string, ...args: string[]]

function nginx(folder: string, port: number, gateways: readonly number[]): Words {
  const site = replaced(readFileSync(join(EXAMPLES, 'nginx.conf'), 'utf8'), [
    [/server gateway:7117(.*);/, (settings) => servers(gateways, settings)],
    [/listen 7117;/, () => `listen 127.0.0.1:${port};`],
  ])
  writeFileSync(join(folder, 'site.conf'), site)
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const paths = kinds.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(' ')
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; pid ${folder}/pid; error_log stderr; events { worker_connections 1024; }
    http { access_log off; ${paths} include ${folder}/site.conf; }`,
  )
  return ['nginx', '-e', 'stderr', '-c', join(folder, 'nginx.conf')]
}

function servers(gateways: readonly number[], settings = ''): string {
  return gateways.map((gateway) => `server 127.0.0.1:${gateway}${settings};`).join('\n    ')
}

function caddy(folder: string, port: number, gateways: readonly number[]): Words {
  const site = replaced(readFileSync(join(EXAMPLES, 'Caddyfile'), 'utf8'), [
    [/gateway-1:7117 .*(?= \{)/, () => gateways.map((gateway) => `127.0.0.1:${gateway}`).join(' ')],
    [/^:7117 \{/m, () => `http://127.0.0.1:${port} {`],
  ])
  const file = join(folder, 'Caddyfile')
  writeFileSync(file, `{\n\tadmin off\n}\n${site}`)
  return ['caddy', 'run', '--adapter', 'caddyfile', '--config', file]
}

type Replacement = readonly [pattern: RegExp, by: (group: string | undefined) => string]

function replaced(text: string, replacements: readonly Replacement[]): string {
  let result = text
  for (const [pattern, by] of replacements) {
    if (!pattern.test(result)) throw new Error(`the example has nothing that matches ${pattern}`)
    result = result.replace(pattern, (_all, group) => by(typeof group === 'string' ? group : undefined))
  }
  return result
}

/** Resolves once a URL is answered with 200. */
async function answering(url: string): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    const status = await fetch(url).then(
      (response) => response.status,
      () => 0,
    )
    if (status === 200) return
    await new Promise((resolve) => void setTimeout(resolve, 50))
  }
  throw new Error(`${url} is not answered`)
}
