import { readFileSync, writeFileSync } from 'node:fs'

/**
 * `npm run lockfile`: completes package-lock.json. A registry mirror may lack binaries for other platforms; npm then
 * omits them from the lockfile, and `npm ci` rejects it. Their versions are exact and their names contain the
 * platform, so they can be added without the registry. The engines of version 7 of the AI SDK are left out: it asks for
 * Node.js 22, the tests run it on 20 as well, and `npm ci` would begin with four warnings there.
 */
interface LockedPackage {
  readonly version?: string
  readonly dev?: boolean
  readonly optional?: boolean
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly os?: readonly string[]
  readonly cpu?: readonly string[]
  readonly libc?: readonly string[]
  readonly engines?: Readonly<Record<string, string>>
}

const path = new URL('../../package-lock.json', import.meta.url)
const lock: { packages: Record<string, LockedPackage> } = JSON.parse(readFileSync(path, 'utf8'))

const OPERATING_SYSTEMS = [
  'aix',
  'android',
  'darwin',
  'freebsd',
  'linux',
  'netbsd',
  'openbsd',
  'openharmony',
  'sunos',
  'win32',
]
const PROCESSORS = [
  'arm64',
  'arm',
  'x64',
  'ia32',
  'ppc64',
  'riscv64',
  's390x',
  'loong64',
  'mips64el',
  'wasm32',
]

const added: string[] = []
for (const [place, { optionalDependencies = {}, dev }] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(optionalDependencies)) {
    if (!/^\d/.test(version) || findsVersion(place, name, version)) continue
    const isFree = lock.packages[`node_modules/${name}`] === undefined
    const key = isFree ? `node_modules/${name}` : `${place}/node_modules/${name}`
    lock.packages[key] = { version, ...(dev ? { dev } : {}), optional: true, ...platformOf(name) }
    added.push(`${key}@${version}`)
  }
}
for (const [place, { engines: _, ...locked }] of Object.entries(lock.packages))
  if (`${place}/`.startsWith('node_modules/ai-v7/')) lock.packages[place] = locked
const sorted = Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1))
writeFileSync(path, `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, null, 2)}\n`)
console.log(added.length === 0 ? 'nothing was missing' : `added ${added.length}:\n${added.join('\n')}`)

/** Whether `place` would resolve this version, in its own folder or in a parent folder. */
function findsVersion(place: string, name: string, version: string): boolean {
  for (let folder = place; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const found = lock.packages[`${folder === '' ? '' : `${folder}/`}node_modules/${name}`]
    if (found) return found.version === version
    if (folder === '') return false
    if (!folder.includes('/node_modules/')) folder = '/node_modules/'
  }
}

function platformOf(name: string): Pick<LockedPackage, 'os' | 'cpu' | 'libc'> {
  const words = name.split(/[/-]/)
  const os = OPERATING_SYSTEMS.filter((system) => words.includes(system))
  const cpu = PROCESSORS.filter((processor) => words.includes(processor))
  const libc = words.some((word) => word.startsWith('musl'))
    ? ['musl']
    : words.some((word) => word.startsWith('gnu'))
      ? ['glibc']
      : []
  return {
    ...(cpu.length > 0 ? { cpu } : {}),
    ...(os.length > 0 ? { os } : {}),
    ...(os.includes('linux') && libc.length > 0 ? { libc } : {}),
  }
}
