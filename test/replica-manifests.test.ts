import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { serveCommand } from '../packages/toolcrib/src/serve/command.ts'
import type { Terminal } from '../packages/toolcrib/src/terminal/terminal.ts'

const FOLDER = join(import.meta.dirname, '../examples/replicas')
const read = (name: string) => readFileSync(join(FOLDER, name), 'utf8')
const isInstalled = (program: string) => spawnSync(program, ['version']).error === undefined
/** After SIGTERM it serves for three seconds, answers calls under way for ten, and gives servers six more. */
const LONGEST_END_S = 19

/** The flags of a command line that `toolcrib serve` does not know. */
function unknownFlags(words: readonly string[]): readonly string[] {
  const command = serveCommand({ help: (text: string) => text } as Terminal)
  return command.parseOptions([...words]).unknown
}

describe('the examples for many replicas', () => {
  it('start gateways with flags, a store and a time to end that fit, under compose', () => {
    const { services, volumes } = parse(read('compose.yaml'), { strict: true, uniqueKeys: true })
    const { gateway, redis, nginx } = services
    const [shell, , script] = gateway.command
    expect(shell).toBe('sh')
    const serve = /exec toolcrib serve (.*)$/.exec(script)?.[1] ?? ''
    expect(unknownFlags(serve.split(' '))).toEqual([])
    expect(Number.parseInt(gateway.stop_grace_period, 10)).toBeGreaterThan(LONGEST_END_S)
    expect(redis.command).toContain('noeviction')
    for (const { volumes: mounts = [] } of [gateway, redis, nginx])
      for (const [source] of mounts.map((mount: string) => mount.split(':')))
        expect(source.startsWith('./') || source in volumes).toBe(true)
    for (const name of [...gateway.depends_on, ...nginx.depends_on]) expect(services).toHaveProperty(name)
    const { protocol, hostname } = new URL(gateway.environment.TOOLCRIB_STORE)
    expect([protocol, hostname in services]).toEqual(['redis:', true])
  })

  it('start gateways that are ready, end in time and find their files, under Kubernetes', () => {
    const documents = parseAllDocuments(read('kubernetes.yaml'), { strict: true, uniqueKeys: true })
    expect(documents.flatMap(({ errors }) => errors)).toEqual([])
    const [deployment, service] = documents.map((document) => document.toJS())
    const { template, selector, strategy } = deployment.spec
    const [container] = template.spec.containers
    const [program, command, ...flags] = container.args
    expect([program, command, unknownFlags(flags)]).toEqual(['toolcrib', 'serve', []])
    const [{ containerPort }] = container.ports
    expect(flags[flags.indexOf('--port') + 1]).toBe(String(containerPort))
    expect(service.spec.ports).toEqual([{ port: containerPort }])
    expect(template.metadata.labels).toEqual(selector.matchLabels)
    expect(service.spec.selector).toEqual(selector.matchLabels)
    // A gateway ends only when another one is ready.
    expect(strategy.rollingUpdate.maxUnavailable).toBe(0)
    const pause = Number(container.lifecycle.preStop.exec.command.at(-1))
    expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThan(LONGEST_END_S + pause)
    const probes = [container.readinessProbe, container.livenessProbe]
    expect(probes.map(({ httpGet }) => httpGet.path)).toEqual(['/readyz', '/healthz'])
    for (const { httpGet } of probes) expect(httpGet.port).toBe(containerPort)
    const mounted = container.volumeMounts.map(({ name }: { name: string }) => name)
    expect(template.spec.volumes.map(({ name }: { name: string }) => name)).toEqual(mounted)
    // A token file that others can read is refused.
    expect(template.spec.volumes[1].secret.defaultMode & 0o077).toBe(0)
    expect(container.env.map(({ name }: { name: string }) => name)).toEqual(['TOOLCRIB_STORE'])
  })

  it('send a session to one gateway, pass events on at once and repeat no call, with nginx', () => {
    const config = read('nginx.conf')
    expect(braces(config)).toBe(0)
    const directives = new Map(
      [...config.matchAll(/^\s*([a-z_]+)\s+([^;{]+);/gm)].map(([, name = '', value = '']) => [name, value]),
    )
    expect(directives.get('hash')).toMatch(/consistent/)
    expect(directives.get('proxy_buffering')).toBe('off')
    expect(directives.get('proxy_next_upstream')).toBe('error')
    expect(directives.get('proxy_http_version')).toBe('1.1')
  })

  it.skipIf(!isInstalled('nginx'))('are read by nginx itself', () => {
    const folder = mkdtempSync(join(tmpdir(), 'toolcrib-nginx-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    // It looks host names up, and this one is known to compose alone.
    writeFileSync(
      join(folder, 'site.conf'),
      read('nginx.conf').replace('server gateway:', 'server 127.0.0.1:'),
    )
    writeFileSync(
      join(folder, 'nginx.conf'),
      `pid ${folder}/pid; error_log stderr; events {} http { include ${folder}/site.conf; }`,
    )
    const { status, stderr } = spawnSync('nginx', ['-t', '-c', join(folder, 'nginx.conf')], {
      encoding: 'utf8',
    })
    expect([stderr, status]).toEqual([expect.stringContaining('test is successful'), 0])
  })

  it('do the same with Caddy', () => {
    const config = read('Caddyfile')
    expect(braces(config)).toBe(0)
    expect(config).toMatch(/lb_policy header Mcp-Session-Id/)
    expect(config).toMatch(/flush_interval -1/)
    expect(config).toMatch(/health_uri \/readyz/)
    // Stopping gateways are noticed while they still serve; a retry that failed is not held against the next gateway.
    expect(config).toMatch(/health_interval 1s/)
    expect(config).not.toMatch(/^\s*fail_duration/m)
    // Caddy repeats only what no gateway took, unless it is asked to.
    expect(config).not.toMatch(/lb_retry_match/)
  })

  it.skipIf(!isInstalled('caddy'))('are read by Caddy itself', () => {
    const args = ['validate', '--adapter', 'caddyfile', '--config', join(FOLDER, 'Caddyfile')]
    expect(spawnSync('caddy', args).status).toBe(0)
  })
})

function braces(text: string): number {
  const code = text.replace(/#.*$/gm, '')
  return code.split('{').length - code.split('}').length
}
